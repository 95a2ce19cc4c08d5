"""Reliability: failures, checkpoints, and the share of paid time that is kept."""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import BUILDING, TRAINING, every, is_off, is_on, is_task
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array
from estimates.engine.time import HOURS

YOUNG = "Young 1974 (CACM 17(9), pp. 530-531)"
DALY = "Daly 2006 (FGCS 22(3), pp. 303-312)"
INFEASIBLE_ABOVE = 0.5
"""Where the first-order losses pass a half, the model of rare failures no longer holds."""
SHORTEST_INTERVAL_HOURS = 1 / 60

training = is_task(*TRAINING)
building = is_task(*BUILDING)
failing = every(training, is_on("reliability"))


@quantity("1 / hour", "Failures per hour", "每小时故障次数", when=failing)
def failures_per_hour(
    accelerator_count: Array,
    reliability__accelerator_mtbf_hours: Array,
    compute__spot__preemptions_per_1000_hours: Array | float = 0.0,
) -> Array:
    """Of all accelerators together, and preemptions of the job: each of them stops the run."""
    return accelerator_count / reliability__accelerator_mtbf_hours + compute__spot__preemptions_per_1000_hours / 1000.0


@quantity("hour", "Mean time between failures of the cluster", "集群平均故障间隔", when=failing)
def cluster_mtbf_hours(failures_per_hour: Array) -> Array:
    """The more accelerators, the shorter."""
    return 1.0 / failures_per_hour


@quantity("hour", "Hours to recover", "单次恢复时长", when=failing)
def recovery_hours(
    reliability__restart_hours: Array,
    reliability__detection_hours: Array,
    reliability__auto_recovery_share: Array | float = 1.0,
    operations__hours_per_interruption: Array | float = 0.0,
) -> Array:
    """Detection and restart; a failure that does not heal by itself waits for a person as well."""
    waiting = (1.0 - reliability__auto_recovery_share) * operations__hours_per_interruption
    return reliability__restart_hours + reliability__detection_hours + waiting


@quantity("hour", "Checkpoint interval, first order", "检查点间隔（一阶）", source=YOUNG, when=failing)
def checkpoint_first_order_hours(reliability__checkpoint_stall_hours: Array, cluster_mtbf_hours: Array) -> Array:
    """√(2 · stall · M)."""
    return np.sqrt(2.0 * reliability__checkpoint_stall_hours * cluster_mtbf_hours)


@quantity("hour", "Optimal checkpoint interval", "最优检查点间隔", source=DALY, when=failing)
def checkpoint_optimum_hours(
    checkpoint_first_order_hours: Array, reliability__checkpoint_stall_hours: Array, cluster_mtbf_hours: Array
) -> Array:
    """Young's interval with two more terms, less the stall; M where a stall takes longer than 2 · M."""
    ratio = reliability__checkpoint_stall_hours / (2.0 * cluster_mtbf_hours)
    series = 1.0 + np.sqrt(ratio) / 3.0 + ratio / 9.0
    optimum = checkpoint_first_order_hours * series - reliability__checkpoint_stall_hours
    return np.where(ratio < 1.0, optimum, cluster_mtbf_hours)


@quantity("hour", "Checkpoint interval", "检查点保存间隔", source=DALY, when=failing)
def checkpoint_interval_hours(checkpoint_optimum_hours: Array, shortest_interval_hours: float) -> Array:
    """The optimum; nobody saves more often than every minute."""
    return np.maximum(checkpoint_optimum_hours, shortest_interval_hours)


@checkpoint_interval_hours.variant(when=failing)
def given_interval_hours(reliability__checkpoint_interval_hours: Array) -> Array:
    """Chosen by the plan."""
    return reliability__checkpoint_interval_hours


@checkpoint_interval_hours.variant(when=failing)
def capped_interval_hours(
    checkpoint_optimum_hours: Array, shortest_interval_hours: float, reliability__acceptable_loss_hours: Array
) -> Array:
    """The optimum, or the acceptable loss where that is shorter."""
    longest = np.minimum(checkpoint_optimum_hours, reliability__acceptable_loss_hours)
    return np.maximum(longest, shortest_interval_hours)


@quantity("hour", "Shortest interval", "最短检查点间隔", when=failing)
def shortest_interval_hours() -> float:
    """One minute."""
    return SHORTEST_INTERVAL_HOURS


@quantity("1", "Losses, first order", "一阶损失占比", source=f"{YOUNG}; {DALY}", when=failing)
def first_order_loss(
    reliability__checkpoint_stall_hours: Array,
    checkpoint_interval_hours: Array,
    cluster_mtbf_hours: Array,
    recovery_hours: Array,
) -> Array:
    """stall ÷ τ + τ ÷ 2M + recovery ÷ M. Above a half no interval makes the run feasible."""
    saving = reliability__checkpoint_stall_hours / checkpoint_interval_hours
    return saving + (checkpoint_interval_hours / 2.0 + recovery_hours) / cluster_mtbf_hours


@quantity("1", "Goodput before rollback", "回滚前的有效训练时间占比", source=DALY, when=failing)
def machine_goodput(
    checkpoint_interval_hours: Array,
    reliability__checkpoint_stall_hours: Array,
    recovery_hours: Array,
    cluster_mtbf_hours: Array,
    first_order_loss: Array,
    feasibility: Array,
) -> Array:
    """τ ÷ (M · e^(R÷M) · (e^((τ + stall)÷M) − 1)): Daly's expected run time; held at a half where the model ends."""
    segment = np.expm1((checkpoint_interval_hours + reliability__checkpoint_stall_hours) / cluster_mtbf_hours)
    wall = cluster_mtbf_hours * np.exp(recovery_hours / cluster_mtbf_hours) * segment
    kept = checkpoint_interval_hours / wall
    capped = np.where(first_order_loss > INFEASIBLE_ABOVE, np.maximum(kept, 1.0 - INFEASIBLE_ABOVE), kept)
    return capped * feasibility


@machine_goodput.variant(when=every(training, is_off("reliability")))
def undisturbed_goodput() -> float:
    """The plan leaves failures out."""
    return 1.0


@machine_goodput.variant(when=failing)
def given_goodput(reliability__goodput: Array) -> Array:
    """Stated by the plan, or by history; rollback is in it."""
    return reliability__goodput


@quantity("1", "Work kept", "保留的工作占比", when=failing)
def kept_share(reliability__rollback_share: Array) -> Array:
    """What is not rolled back after loss spikes."""
    return 1.0 - reliability__rollback_share


@kept_share.variant(when=every(training, is_off("reliability")))
def everything_kept() -> float:
    """The plan leaves failures out."""
    return 1.0


@kept_share.variant(when=failing)
def kept_share_within_goodput(reliability__goodput: Array) -> Array:
    """A stated goodput has the rollback in it."""
    return reliability__goodput * 0.0 + 1.0


@quantity("1", "Goodput", "有效训练时间占比", source=DALY, when=training)
def goodput(machine_goodput: Array, kept_share: Array) -> Array:
    """Productive time per paid time."""
    return machine_goodput * kept_share


@quantity(HOURS, "Accelerator-hours lost to failures and stalls", "故障与停顿损失卡时", when=building)
def retry_accelerator_hours(productive_accelerator_hours: Array, machine_goodput: Array) -> Array:
    """Checkpoint stalls, detection, restart and lost work."""
    return productive_accelerator_hours / machine_goodput - productive_accelerator_hours


@quantity(HOURS, "Accelerator-hours rolled back", "回滚损失卡时", when=building)
def rollback_accelerator_hours(
    accelerator_hours: Array, productive_accelerator_hours: Array, retry_accelerator_hours: Array
) -> Array:
    """Steps that ran and were thrown away after loss spikes."""
    return accelerator_hours - productive_accelerator_hours - retry_accelerator_hours


@quantity("1", "Interruptions", "中断次数", when=every(building, is_on("reliability")))
def interruptions(elapsed_hours: Array, failures_per_hour: Array) -> Array:
    """Expected over the main run."""
    return elapsed_hours * failures_per_hour


@quantity("1", "Checkpoints written", "写出的检查点数", when=every(building, is_on("reliability")))
def checkpoints_written(elapsed_hours: Array, checkpoint_interval_hours: Array) -> Array:
    """One each interval."""
    return elapsed_hours / checkpoint_interval_hours


@quantity("1", "Retry factor", "重试系数", when=training)
def retry_factor(machine_goodput: Array) -> Array:
    """Hours with failures ÷ hours without."""
    return 1.0 / machine_goodput


@quantity("1", "Rollback factor", "回滚系数", when=training)
def rollback_factor(kept_share: Array) -> Array:
    """Hours with rollback ÷ hours without."""
    return 1.0 / kept_share


@quantity("1", "Experiment factor", "实验系数", when=building)
def experiment_factor(experiment_accelerator_hours: Array, accelerator_hours: Array) -> Array:
    """Main run and experiments ÷ main run."""
    return 1.0 + experiment_accelerator_hours / accelerator_hours


@quantity("1", "Redundancy factor", "冗余系数", when=building)
def redundancy_factor(total_accelerator_hours: Array, ideal_accelerator_hours: Array) -> Array:
    """All billed hours ÷ ideal hours."""
    return total_accelerator_hours / ideal_accelerator_hours


@quantity("1", "Rest of the redundancy", "其余冗余系数", when=building)
def rest_factor(
    redundancy_factor: Array, retry_factor: Array, rollback_factor: Array, experiment_factor: Array
) -> Array:
    """Evaluation, idle cards and the error of the method."""
    return redundancy_factor / (retry_factor * rollback_factor * experiment_factor)
