"""Fields of what stands around the accelerators: storage, network, people, operations."""

from estimates.engine.field_kinds import COUNT, MONEY, SHARE, UNIT_PRICE, Bounds, number, table, text

DAYS = Bounds(0, 36500)

STORAGE = (
    number(
        "storage.checkpoint_bytes_per_parameter",
        "byte/parameter",
        Bounds(0, 1000, open_low=True),
        "Checkpoint per parameter",
        "每参数检查点字节",
        section="storage",
        default=14.0,
    ),
    number(
        "storage.keep_last",
        "1",
        Bounds(0, 1e6),
        "Keep the last",
        "保留最近个数",
        section="storage",
        default=5.0,
        basic=True,
    ),
    number(
        "storage.keep_milestones",
        "1",
        Bounds(0, 1e6),
        "Keep milestones",
        "保留关键节点数",
        section="storage",
        default=4.0,
        basic=True,
    ),
    number(
        "storage.keep_every_hours",
        "hour",
        Bounds(0, 1e5, open_low=True),
        "Keep one for good every",
        "长期保留间隔",
        section="storage",
    ),
    number(
        "storage.weights_only_after_days", "day", DAYS, "Weights only after", "仅保留权重（天后）", section="storage"
    ),
    number("storage.archive_after_days", "day", DAYS, "Archive after", "归档（天后）", section="storage", default=30.0),
    number(
        "storage.corpus_replicas",
        "1",
        Bounds(0, 100),
        "Copies of the corpus",
        "语料副本数",
        section="storage",
        default=2.0,
    ),
    number(
        "storage.artefact_tb",
        "TB",
        Bounds(0, 1e9),
        "Artefacts of experiments",
        "实验中间产物",
        section="storage",
        default=0.0,
    ),
    number(
        "storage.log_gb_per_day",
        "GB/day",
        Bounds(0, 1e9),
        "Logs and traces a day",
        "日志与追踪数据量",
        section="storage",
        default=20.0,
    ),
    number("storage.log_retention_days", "day", DAYS, "Logs are kept", "日志保留天数", section="storage", default=30.0),
)

NETWORK = (
    number("network.cross_region_gb", "GB", COUNT, "Between regions", "跨地域流量", section="network", default=0.0),
    number("network.cross_zone_gb", "GB", COUNT, "Between zones", "跨可用区流量", section="network", default=0.0),
    number("network.egress_gb", "GB", COUNT, "To the internet", "公网出流量", section="network", default=0.0),
    number("network.peak_gbps", "Gbit/s", Bounds(0, 1e9), "Peak bandwidth", "峰值带宽", section="network", default=0.0),
    number(
        "network.interconnect_share",
        "share",
        SHARE,
        "Interconnect, as a share of compute",
        "互联占算力成本比例",
        ("Grows with the cluster; zero where the price of rent holds it.", "随集群规模上升；租价已含时为零。"),
        section="network",
        baseline=True,
        default="baseline",
    ),
)

PEOPLE = (
    table("people", "People", "人力", section="people"),
    text("people.*.role", "Role", "岗位", section="people", longest=120, required=True),
    number("people.*.fte", "fte", Bounds(0, 1e5), "Full-time posts", "全职人数", section="people", required=True),
    number("people.*.months", "month", Bounds(0, 1200), "Months", "月数", section="people", required=True),
    number(
        "people.*.monthly_rate",
        "money/fte-month",
        UNIT_PRICE,
        "Cost of a post and month",
        "人月成本",
        ("Not given: the price table.", "未填写时取价格表。"),
        section="people",
    ),
)

OPERATIONS = (
    number(
        "operations.automation",
        "share",
        SHARE,
        "Recovery that is automatic",
        "恢复自动化程度",
        section="people",
        default=0.8,
    ),
    number(
        "operations.hours_per_interruption",
        "hour",
        Bounds(0, 1e4),
        "Hours of labour at an interruption",
        "单次中断人工处理小时",
        section="people",
        default=4.0,
    ),
    text(
        "operations.role",
        "Who recovers",
        "处理岗位",
        ("A role of the price table; not given: the first of the people.", "价格表中的岗位；未填写时取人力第一项。"),
        section="people",
        longest=120,
    ),
    number(
        "operations.platform_fee_per_month",
        "money/month",
        MONEY,
        "Platform fees a month",
        "平台费用（每月）",
        section="people",
        default=0.0,
    ),
    number(
        "operations.troubleshooting_share",
        "share",
        SHARE,
        "Troubleshooting, as a share of people",
        "排障占人力比例",
        section="people",
        default=0.0,
    ),
    number(
        "operations.learning_share",
        "share",
        SHARE,
        "Learning, as a share of people",
        "团队学习占人力比例",
        section="people",
        default=0.0,
    ),
)
