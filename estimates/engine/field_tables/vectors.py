"""Fields of a store of vectors that is kept month after month."""

from estimates.engine.field_kinds import COUNT, SHARE, Bounds, number
from estimates.engine.field_tables.serving import GROWTH, MONTHS

VECTORS = frozenset({"vector_store"})

EMBEDDING = (
    number("vectors.count", "vector", COUNT, "Vectors", "向量条数", section="vectors", tasks=VECTORS, default=0.0),
    number(
        "vectors.dimensions",
        "1",
        Bounds(1, 1e6),
        "Dimensions",
        "维度",
        section="vectors",
        tasks=VECTORS,
        whole=True,
        default=1024.0,
    ),
    number(
        "vectors.bytes",
        "byte",
        Bounds(0, 64, open_low=True),
        "Bytes per dimension",
        "每维字节",
        section="vectors",
        default=4.0,
    ),
    number(
        "vectors.index_overhead",
        "share",
        Bounds(0, 100),
        "Overhead of the index",
        "索引开销",
        ("As a share of the vectors themselves.", "相对向量本身的比例。"),
        section="vectors",
        default=0.5,
    ),
    number("vectors.replicas", "1", Bounds(1, 100), "Replicas", "副本数", section="vectors", default=1.0),
    number(
        "vectors.months", "month", MONTHS, "Months", "月数", section="vectors", whole=True, ranged=False, default=12.0
    ),
    number(
        "vectors.growth_per_month",
        "share",
        GROWTH,
        "Growth a month",
        "月增长率",
        section="vectors",
        tasks=VECTORS,
        default=0.0,
    ),
    number(
        "vectors.hot_share",
        "share",
        SHARE,
        "Share in the hot tier",
        "热数据占比",
        ("By how often it is read, not by age.", "按访问频率，而非存放时间。"),
        section="vectors",
        tasks=VECTORS,
        default=1.0,
    ),
    number(
        "vectors.embedding_tokens",
        "token",
        COUNT,
        "Tokens to embed",
        "待向量化 token 数",
        ("Once over the whole corpus, with the model of this plan.", "用本计划模型对全部语料计算一次。"),
        section="vectors",
        tasks=VECTORS,
        default=0.0,
    ),
)
