"""Fields that say how a run fails and recovers, what is tried before it, and how it is evaluated and fine-tuned."""

from estimates.engine.field_kinds import (
    COUNT,
    SHARE,
    SHARE_ABOVE_ZERO,
    SHARE_BELOW_ONE,
    Bounds,
    choice,
    flag,
    number,
    table,
    text,
)
from estimates.engine.field_tables.goal import TRAINING
from estimates.engine.field_tables.model import PARAMETERS

HOURS = Bounds(0, 1e5)

RELIABILITY = (
    number(
        "reliability.goodput",
        "share",
        SHARE_ABOVE_ZERO,
        "Goodput",
        "有效训练时间占比",
        (
            "Productive time ÷ paid time, if known; replaces the model of failures.",
            "有效时间 ÷ 付费时间；已知时替代故障模型。",
        ),
        section="reliability",
        tasks=TRAINING,
        baseline=True,
    ),
    number(
        "reliability.accelerator_mtbf_hours",
        "hour",
        Bounds(1, 1e9),
        "Mean time between failures of one accelerator",
        "单卡平均故障间隔",
        section="reliability",
        tasks=TRAINING,
        baseline=True,
        default=50000.0,
    ),
    number(
        "reliability.checkpoint_stall_hours",
        "hour",
        HOURS,
        "Stall at a checkpoint",
        "检查点停顿时长",
        ("The time training stands still, not the time the copy takes.", "训练停顿的时间，而非写盘时间。"),
        section="reliability",
        default=0.003,
    ),
    number("reliability.restart_hours", "hour", HOURS, "Restart", "重启时长", section="reliability", default=0.1),
    number(
        "reliability.detection_hours", "hour", HOURS, "Detection", "故障发现时长", section="reliability", default=0.0
    ),
    number(
        "reliability.auto_recovery_share",
        "share",
        SHARE,
        "Failures that heal by themselves",
        "自动恢复占比",
        section="reliability",
        default=1.0,
    ),
    number(
        "reliability.acceptable_loss_hours",
        "hour",
        Bounds(0, 1e5, open_low=True),
        "Acceptable loss at one failure",
        "单次故障可接受损失时长",
        section="reliability",
    ),
    number(
        "reliability.checkpoint_interval_hours",
        "hour",
        Bounds(0, 1e5, open_low=True),
        "Checkpoint every",
        "检查点保存间隔",
        ("auto: the optimum of Daly 2006.", "auto：按 Daly 2006 的最优间隔。"),
        section="reliability",
        tasks=TRAINING,
        word="auto",
        default="auto",
        basic=True,
    ),
    number(
        "reliability.rollback_share",
        "share",
        SHARE_BELOW_ONE,
        "Work rolled back after loss spikes",
        "loss 异常回滚占比",
        section="reliability",
        baseline=True,
        default=0.01,
    ),
    number(
        "reliability.spare_count",
        "accelerator",
        Bounds(0, 1e7),
        "Spare accelerators",
        "备用卡数",
        section="reliability",
        default=0.0,
    ),
    flag(
        "reliability.restore_tested",
        "Restoring a checkpoint was tested",
        "已验证检查点恢复",
        section="reliability",
        default=False,
    ),
)

EXPERIMENTS = (
    number(
        "experiments.ratio",
        "1",
        Bounds(0, 100),
        "Experiments, as a ratio of the main run",
        "实验算力与正式训练之比",
        (
            "Not given: from history; without history a range that reaches 1.0.",
            "未填写时取历史数据；无历史时取上限为 1.0 的区间。",
        ),
        section="experiments",
        tasks=TRAINING,
        baseline=True,
        default="baseline",
        basic=True,
    ),
    table(
        "experiments",
        "Ladder of experiments",
        "分层实验",
        (
            "Smaller plans, from small to large; what a rung leaves out is as in the plan.",
            "由小到大的实验计划；未填写项同主计划。",
        ),
        section="experiments",
        tasks=TRAINING,
    ),
    text("experiments.*.name", "Rung", "实验名称", section="experiments", longest=120),
    number("experiments.*.parameters", "parameter", PARAMETERS, "Parameters", "参数量", section="experiments"),
    number(
        "experiments.*.active_parameters",
        "parameter",
        PARAMETERS,
        "Active parameters",
        "激活参数量",
        section="experiments",
    ),
    number("experiments.*.layers", "1", Bounds(1, 10000), "Layers", "层数", section="experiments", whole=True),
    number(
        "experiments.*.hidden_size", "1", Bounds(1, 1e7), "Hidden size", "隐藏层宽度", section="experiments", whole=True
    ),
    number(
        "experiments.*.sequence_length",
        "token",
        Bounds(1, 1e9),
        "Sequence length",
        "序列长度",
        section="experiments",
        whole=True,
    ),
    number("experiments.*.tokens", "token", Bounds(1, 1e18), "Tokens", "token 数", section="experiments"),
    number(
        "experiments.*.epochs",
        "1",
        Bounds(0, 10000, open_low=True),
        "Epochs",
        "轮数",
        section="experiments",
        default=1.0,
    ),
    number("experiments.*.runs", "1", Bounds(1, 1e6), "Runs", "次数", section="experiments", default=1.0),
    number(
        "experiments.*.mfu", "share", SHARE_ABOVE_ZERO, "MFU", "算力利用率（MFU）", section="experiments", baseline=True
    ),
    number(
        "experiments.*.accelerator_hours",
        "accelerator-hour",
        COUNT,
        "Accelerator-hours of a run, if known",
        "单次卡时（如已知）",
        section="experiments",
    ),
)

EVALUATION = (
    number(
        "evaluation.tokens",
        "token",
        COUNT,
        "Tokens of one evaluation",
        "单次评测 token 数",
        section="evaluation",
        default=0.0,
    ),
    number("evaluation.times", "1", Bounds(0, 1e9), "Evaluations", "评测次数", section="evaluation", default=0.0),
)

STRATEGIES = {
    "full": ("All parameters", "全参数微调"),
    "lora": ("Adapters (LoRA)", "低秩适配（LoRA）"),
    "head_only": ("Task head only", "仅训练任务头"),
}
FINETUNE = frozenset({"finetune"})
TUNING = (
    choice("finetune.strategy", "Strategy", "微调策略", STRATEGIES, section="finetune", tasks=FINETUNE, default="full"),
    number(
        "finetune.adapter_parameters",
        "parameter",
        Bounds(0, 1e15),
        "Adapter parameters",
        "适配器参数量",
        section="finetune",
        tasks=FINETUNE,
        default=0.0,
    ),
    number(
        "finetune.head_parameters",
        "parameter",
        Bounds(0, 1e15),
        "Head parameters",
        "任务头参数量",
        section="finetune",
        tasks=FINETUNE,
        default=0.0,
    ),
    flag(
        "finetune.cache_features",
        "Features of the trunk are cached",
        "缓存主干特征",
        ("The trunk then runs once, not once an epoch.", "主干只计算一次，而非每轮一次。"),
        section="finetune",
        tasks=FINETUNE,
        default=False,
    ),
    number("finetune.label_count", "label", COUNT, "Labels", "标签数量", section="finetune", tasks=FINETUNE),
    number(
        "finetune.label_quality",
        "share",
        SHARE,
        "Share of right labels",
        "标签正确率",
        section="finetune",
        tasks=FINETUNE,
    ),
)
