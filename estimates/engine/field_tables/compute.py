"""Fields that say on what hardware the work runs, how well, and how it is acquired."""

from estimates.engine.field_kinds import (
    COUNT,
    SHARE,
    SHARE_ABOVE_ZERO,
    UNIT_PRICE,
    Bounds,
    choice,
    number,
    table,
    text,
)

PRECISIONS = {name: (name.upper(), name.upper()) for name in ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")}
MODES = {
    "rent": ("Rent", "租用"),
    "on_demand": ("Rent, on demand", "租用 · 按量"),
    "committed": ("Rent, reserved", "租用 · 包年包月（预留）"),
    "spot": ("Rent, spot", "租用 · 竞价"),
    "own": ("Own", "自建"),
    "mixed": ("Mixed", "混合"),
}
ATTENTION = {
    "full": ("Full attention counted", "按完整注意力计"),
    "causal": ("Causal attention counted", "按因果注意力计"),
    "none": ("Attention left out", "不计注意力"),
}
COUNTS = {
    "model": ("FLOPs of the model", "模型 FLOPs（MFU）"),
    "hardware": ("FLOPs of the hardware, with recomputation", "硬件 FLOPs（含重计算，HFU）"),
}
ACCELERATORS = Bounds(1, 1e7)
TFLOPS = Bounds(0, 1e6, open_low=True)


def convention(path: str, **defaults: str) -> tuple:
    """The keys that say what a utilisation figure counts; without defaults they hold when given only."""
    return (
        choice(
            f"{path}.attention",
            "Attention",
            "注意力口径",
            ATTENTION,
            section="compute",
            default=defaults.get("attention"),
        ),
        choice(f"{path}.counts", "Counts", "计算口径", COUNTS, section="compute", default=defaults.get("counts")),
        choice(
            f"{path}.peak_precision",
            "Peak at precision",
            "峰值精度",
            PRECISIONS,
            section="compute",
            hint=("The precision of the plan unless given.", "默认与计划精度一致。"),
        ),
    )


def hardware(path: str) -> tuple:
    """The keys of a group of like accelerators: of the whole plan, or of one pool."""
    return (
        text(f"{path}.accelerator", "Accelerator", "加速卡", section="compute", slug=True, basic=True),
        number(
            f"{path}.count", "accelerator", ACCELERATORS, "How many", "数量", section="compute", whole=True, basic=True
        ),
        number(
            f"{path}.peak_tflops",
            "TFLOPS",
            TFLOPS,
            "Dense peak",
            "稠密峰值算力",
            ("Wins over the catalogue.", "优先于规格库。"),
            section="compute",
        ),
        number(
            f"{path}.memory_gb",
            "GB",
            Bounds(0, 1e6, open_low=True),
            "Memory",
            "显存",
            ("Wins over the catalogue.", "优先于规格库。"),
            section="compute",
        ),
        number(
            f"{path}.price_per_accelerator_hour",
            "money/accelerator-hour",
            UNIT_PRICE,
            "Price per accelerator-hour",
            "每卡时价格",
            ("Wins over the price table.", "优先于价格表。"),
            section="compute",
        ),
    )


COMPUTE = (
    *hardware("compute"),
    choice("compute.precision", "Precision", "训练精度", PRECISIONS, section="compute", default="bf16"),
    number(
        "compute.mfu",
        "share",
        SHARE_ABOVE_ZERO,
        "MFU",
        "算力利用率（MFU）",
        (
            "Of running steps. Not given: from history, or from published runs of the kind.",
            "运行步的利用率。未填写时取历史数据或同类公开训练。",
        ),
        section="compute",
        baseline=True,
        default="baseline",
        convention=True,
        basic=True,
    ),
    *convention("compute.mfu", attention="full", counts="model"),
    number(
        "compute.tokens_per_second_per_accelerator",
        "token/s/accelerator",
        Bounds(0, 1e9, open_low=True),
        "Measured tokens per second and accelerator",
        "实测每卡每秒 token 数",
        ("The best predictor of all; instead of an MFU.", "最可靠的预测依据；替代 MFU。"),
        section="compute",
    ),
    number(
        "compute.tflops_per_accelerator",
        "TFLOPS",
        TFLOPS,
        "Achieved TFLOPS per accelerator",
        "实测每卡 TFLOPS",
        (
            "Instead of an MFU. Figures of 2021 and 2022 mostly count recomputation: say counts: hardware.",
            "替代 MFU。2021–2022 年的数值多含重计算：请注明 counts: hardware。",
        ),
        section="compute",
        convention=True,
    ),
    *convention("compute.tflops_per_accelerator"),
    number(
        "compute.paid_mfu",
        "share",
        SHARE_ABOVE_ZERO,
        "MFU of paid hours",
        "付费时长口径 MFU",
        (
            "6 · parameters · tokens ÷ (paid hours · peak): stalls and repeats are in it.",
            "6 · 参数量 · token 数 ÷（付费时长 · 峰值）：已含停顿与重算。",
        ),
        section="compute",
        baseline=True,
        convention=True,
    ),
    *convention("compute.paid_mfu")[2:],
    choice("compute.mode", "Acquired by", "资源获取模式", MODES, section="compute", default="rent", basic=True),
    text("compute.provider", "Provider", "供应商", section="compute"),
    text("compute.region", "Region", "地域", section="compute"),
    text("compute.instance.name", "Instance", "实例规格", section="compute"),
    number(
        "compute.instance.accelerators",
        "accelerator",
        Bounds(1, 10000),
        "Accelerators in an instance",
        "每实例加速卡数",
        section="compute",
        whole=True,
        ranged=False,
    ),
    table(
        "compute.pools",
        "Pools of unlike accelerators",
        "异构资源池",
        ("Side by side; share is the part of the work a pool does.", "并行使用；占比为该池承担的工作量。"),
        section="compute",
        most_rows=20,
    ),
    *hardware("compute.pools.*"),
    number("compute.pools.*.share", "share", SHARE_ABOVE_ZERO, "Share of the work", "工作量占比", section="compute"),
    number(
        "compute.pools.*.mfu",
        "share",
        SHARE_ABOVE_ZERO,
        "MFU",
        "算力利用率（MFU）",
        section="compute",
        baseline=True,
    ),
    choice("compute.pools.*.precision", "Precision", "训练精度", PRECISIONS, section="compute"),
    text("compute.pools.*.provider", "Provider", "供应商", section="compute"),
    text("compute.pools.*.region", "Region", "地域", section="compute"),
    *(
        number(f"compute.parallelism.{key}", "1", ACCELERATORS, en, zh, section="compute", whole=True, ranged=False)
        for key, en, zh in (
            ("data", "Data parallel", "数据并行"),
            ("tensor", "Tensor parallel", "张量并行"),
            ("pipeline", "Pipeline parallel", "流水线并行"),
            ("microbatches", "Microbatches in a step", "每步微批数"),
        )
    ),
    *(
        number(f"compute.mix.{key}", "share", SHARE, en, zh, section="compute")
        for key, en, zh in (
            ("on_demand", "Share on demand", "按量占比"),
            ("committed", "Share reserved", "预留占比"),
            ("spot", "Share spot", "竞价占比"),
            ("own", "Share own", "自建占比"),
        )
    ),
    number("compute.committed.count", "accelerator", COUNT, "Reserved accelerators", "预留卡数", section="compute"),
    number("compute.committed.hours", "hour", COUNT, "Hours of the term", "承诺时长", section="compute"),
    number(
        "compute.committed.price", "money/accelerator-hour", UNIT_PRICE, "Reserved price", "预留单价", section="compute"
    ),
    number(
        "compute.spot.preemptions_per_1000_hours",
        "1/hour",
        Bounds(0, 1e6),
        "Preemptions per 1,000 hours",
        "每千小时抢占次数",
        ("Of the whole job; adds to the failure rate.", "针对整个任务；计入故障率。"),
        section="compute",
        default=0.0,
    ),
    number(
        "compute.lead_time_days",
        "day",
        Bounds(0, 3650),
        "Lead time",
        "交付周期",
        ("Days from the order to the first accelerator-hour.", "从下单到可用的天数。"),
        section="compute",
    ),
    text(
        "compute.second_source",
        "Second source",
        "备选来源",
        ("Another provider or model that could take over.", "可替代的供应商或卡型。"),
        section="compute",
    ),
    number(
        "compute.carbon_kg_per_kwh",
        "kg/kWh",
        Bounds(0, 10),
        "Carbon of the electricity",
        "电力碳排放因子",
        section="compute",
    ),
)
