"""Fields of hardware one owns: each figure is for one accelerator, and lies in exactly one part of the cost."""

from estimates.engine.field_kinds import MONEY, SHARE_ABOVE_ZERO, UNIT_PRICE, Bounds, number

PER_ACCELERATOR_MONTH = "money/accelerator-month"
OWN = (
    number(
        "compute.own.capital",
        "money/accelerator",
        MONEY,
        "Capital per accelerator",
        "单卡购置成本",
        (
            "With its share of server, network and building. Not given: the price table.",
            "含服务器、网络与机房分摊。未填写时取价格表。",
        ),
        section="own",
    ),
    number("compute.own.residual", "money/accelerator", MONEY, "Residual value", "残值", section="own", default=0.0),
    number("compute.own.life_hours", "hour", Bounds(1, 1e6), "Hours of life", "使用寿命", section="own"),
    number(
        "compute.own.occupancy",
        "share",
        SHARE_ABOVE_ZERO,
        "Occupancy",
        "占用率",
        ("Share of its life in which an accelerator does paid work.", "寿命期内承担有效任务的时间占比。"),
        section="own",
    ),
    number("compute.own.board_kw", "kW", Bounds(0, 100), "Power of a board", "单卡功率", section="own"),
    number("compute.own.load", "share", Bounds(0, 1.5), "Load of the board", "功率负载率", section="own", default=1.0),
    number("compute.own.pue", "1", Bounds(1, 5), "PUE", "PUE", section="own"),
    number(
        "compute.own.electricity_price",
        "money/kWh",
        UNIT_PRICE,
        "Electricity",
        "电价",
        ("Not given: the price table.", "未填写时取价格表。"),
        section="own",
    ),
    number(
        "compute.own.fixed_power_per_month",
        PER_ACCELERATOR_MONTH,
        UNIT_PRICE,
        "Fixed power",
        "固定电费",
        section="own",
        default=0.0,
    ),
    number(
        "compute.own.space",
        PER_ACCELERATOR_MONTH,
        UNIT_PRICE,
        "Space and cooling",
        "机柜与散热",
        section="own",
        default=0.0,
    ),
    number(
        "compute.own.operations",
        PER_ACCELERATOR_MONTH,
        UNIT_PRICE,
        "Operations and maintenance",
        "运维与维保",
        section="own",
        default=0.0,
    ),
)
