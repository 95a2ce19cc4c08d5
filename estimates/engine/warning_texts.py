"""What a warning says, by code, in both languages; `%(value)s` is its number."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "undertrained": (
        "%(value)s tokens per parameter: less than half of what is compute-optimal (about 20).",
        "每参数仅 %(value)s 个 token，不足计算最优值（约 20）的一半，存在欠训练风险。",
    ),
    "overtrained": (
        "%(value)s tokens per parameter: far beyond compute-optimal. It pays only for a model that serves a lot.",
        "每参数 %(value)s 个 token，远超计算最优值；仅当模型推理量很大时才划算。",
    ),
    "no_acceptance": (
        "No acceptance criterion: without one no saving can be judged.",
        "未填写能力验收标准：没有标准，就无法判断降本是否伤及效果。",
    ),
    "no_justification": (
        "Pretraining of one's own without a reason why no existing model is reused.",
        "自建预训练未说明为何不复用已有模型。",
    ),
    "reuse_is_cheaper": (
        "Reusing a model is cheaper unless at least %(value)s downstream tasks use this one.",
        "除非至少有 %(value)s 个下游任务使用该模型，否则复用已有模型更经济。",
    ),
    "predecessor_unknown": (
        "No finished run is recorded of the predecessor %(value)s: published figures stand in.",
        "没有上一代项目 %(value)s 的已完成记录：以公开数据代替。",
    ),
    "no_ladder": (
        "A run of %(value)s accelerator-hours without a ladder of smaller experiments before it.",
        "计划 %(value)s 卡时的训练，但没有由小到大的分层实验。",
    ),
    "experiments_missing": (
        "No experiments are counted; they often add up to the size of the main run.",
        "未计入实验损耗；多轮实验累计常与正式训练相当。",
    ),
    "redundancy_below_history": (
        "A redundancy factor of %(value)s lies below what past runs needed (%(history)s).",
        "冗余系数 %(value)s 低于历史水平（%(history)s）。",
    ),
    "redundancy_by_feeling": (
        "Redundancy is typed in (%(paths)s) and not taken from history; published runs give %(value)s.",
        "冗余由人工填写（%(paths)s），并非取自历史；公开训练约为 %(value)s。",
    ),
    "interval_far_from_optimum": (
        "The checkpoint interval is %(value)s times the optimum.",
        "检查点间隔为最优值的 %(value)s 倍。",
    ),
    "all_checkpoints_kept": (
        "%(value)s of all checkpoints are kept: storage grows without limit.",
        "保留了全部检查点的 %(value)s，存储成本将持续累积。",
    ),
    "too_few_checkpoints": (
        "Only %(value)s checkpoints are kept: one broken checkpoint, and the run starts again.",
        "仅保留 %(value)s 个检查点：一旦损坏，只能从头重训。",
    ),
    "checkpoint_size_unknown": (
        "No storage of checkpoints is counted (%(value)s are kept): give model.parameters to have their size.",
        "检查点（保留 %(value)s 个）的存储未计入总额：请填写 model.parameters，据此得出检查点大小。",
    ),
    "restore_untested": (
        "Nobody has tested to restore a checkpoint; %(value)s interruptions are expected.",
        "尚未验证从检查点恢复；预计中断 %(value)s 次。",
    ),
    "does_not_fit": (
        "The model needs %(value)s GB of memory per accelerator; there are %(available)s GB.",
        "单卡需要 %(value)s GB 显存，而实际为 %(available)s GB。",
    ),
    "pool_does_not_fit": (
        "The model needs %(value)s GB of memory per accelerator; those of the pool %(pool)s have %(available)s GB.",
        "单卡需要 %(value)s GB 显存，而资源池 %(pool)s 的单卡仅有 %(available)s GB。",
    ),
    "misses_deadline": (
        "The deadline is missed with a probability of %(value)s.",
        "错过期限的概率为 %(value)s。",
    ),
    "infeasible": (
        "At this size %(value)s of the time is lost to failures: no checkpoint interval makes the run feasible.",
        "该规模下 %(value)s 的时间损失于故障：任何检查点间隔都不可行。",
    ),
    "compliance_missing": (
        "No compliance cost for data: this part cannot be left out.",
        "未计入数据合规成本：这部分不可省略。",
    ),
    "protected_cost_cut": (
        "Protected cost was cut: %(paths)s (by %(value)s).",
        "受保护的成本被削减：%(paths)s（减少 %(value)s）。",
    ),
    "single_supplier": (
        "All %(value)s accelerators come from one source, and none is named that could take over.",
        "全部 %(value)s 张卡来自单一来源，且未指定备选来源。",
    ),
    "no_lead_time": (
        "No lead time for %(value)s accelerators: delivery and scheduling vary.",
        "%(value)s 张卡未填写交付周期：排期与供应存在波动。",
    ),
    "price_old": (
        "The oldest price used is %(value)s days old.",
        "所用价格中最旧的已有 %(value)s 天。",
    ),
    "price_missing": (
        "%(value)s prices are missing: the total is not known.",
        "缺少 %(value)s 项价格：总额未知。",
    ),
    "price_unverified": (
        "%(value)s of the prices used were not verified at their source: examples, check before use.",
        "所用价格中有 %(value)s 项未经核实：仅为示例，使用前请核对。",
    ),
    "past_refresh": (
        "Own hardware is written off over %(value)s years: longer than it is usually kept.",
        "自建硬件按 %(value)s 年折旧，超过通常的更新周期。",
    ),
    "peak_held_all_day": (
        "Capacity for the peak is held day and night; %(value)s of it works.",
        "全天按峰值持有资源，平均利用率仅 %(value)s。",
    ),
    "one_peak_only": (
        "Only one peak of %(value)s times the mean is planned; promotions, batches and hot topics are not named.",
        "仅考虑了 %(value)s 倍的单一峰值，未列出促销、批量任务、突发热点等场景。",
    ),
    "below_peak_or_service_level": (
        "The service falls short: %(value)s.",
        "服务能力不足：%(value)s。",
    ),
    "full_finetune_avoidable": (
        "Full fine-tuning takes %(value)s times the work of a smaller way (adapter or head).",
        "全参数微调的计算量是更小方案（适配器或任务头）的 %(value)s 倍。",
    ),
    "label_quality_unknown": (
        "The quality of the labels is not known (%(value)s labels).",
        "标签质量未知（%(value)s 条标签）。",
    ),
    "tokens_before_quality": (
        "%(value)s of the tokens teach nothing: better data comes before more tokens.",
        "%(value)s 的 token 无有效信息：应先提升数据质量，再增加 token 数量。",
    ),
    "duplicate_share_high": (
        "%(value)s of the tokens are duplicates.",
        "重复 token 占比达 %(value)s。",
    ),
    "mfu_far_below_published": (
        "Paid utilisation of %(value)s lies below nine in ten published runs of the kind (%(published)s).",
        "付费口径利用率 %(value)s 低于九成同类公开训练（%(published)s）。",
    ),
    "mfu_convention": (
        "The convention of the efficiency figure is not stated; it moves the hours by %(value)s.",
        "未说明利用率口径；不同口径会使卡时相差 %(value)s。",
    ),
    "above_peak": (
        "The efficiency figure is %(value)s times the dense peak of the accelerator.",
        "所填效率为该卡稠密峰值的 %(value)s 倍。",
    ),
    "experiment_repeated": (
        "%(value)s rungs of the ladder repeat another one.",
        "分层实验中有 %(value)s 项与其他项重复。",
    ),
}
