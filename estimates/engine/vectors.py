"""Vectors: an index that is kept month after month, hot or cold by how often it is read."""

from __future__ import annotations

import numpy as np

from core.vocabulary import Category
from estimates.engine.conditions import is_task
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array
from estimates.engine.time import HOURS, SECONDS_PER_HOUR
from estimates.engine.work import KAPLAN

GB = 1e9
INDEX = "Qdrant: vectors · 4 bytes · 1.5; FAISS wiki: HNSW needs 4 · d + 8 · M bytes a vector"

keeping = is_task("vector_store")
MONTH = {"axis": "month"}
KEPT = Place(Category.STORAGE, Category.STORAGE, "recurring", "vector_month_share")


@quantity("GB", "Index at the start", "期初索引大小", source=INDEX, when=keeping)
def vector_index_gb(
    vectors__count: Array, vectors__dimensions: Array, vectors__bytes: Array, vectors__index_overhead: Array
) -> Array:
    """count · dimensions · bytes · (1 + overhead), one copy."""
    return vectors__count * vectors__dimensions * vectors__bytes * (1.0 + vectors__index_overhead) / GB


@quantity("1", "Growth of the index", "索引增长倍数", when=keeping, **MONTH)
def vector_growth(
    vectors__growth_per_month: Array, month_starts: Array, vectors__months: Array, one_month: float
) -> Array:
    """Against the first month; nothing after the last."""
    month = np.arange(month_starts.shape[0], dtype=float)[:, None, None]
    return (1.0 + vectors__growth_per_month) ** month * (month < vectors__months / one_month)


@quantity("GB * month", "Storage of the index, all copies", "索引存储量（含副本）", when=keeping)
def vector_gb_months(vector_index_gb: Array, vectors__replicas: Array, vector_growth: Array, one_month: float) -> Array:
    """Over all months."""
    return vector_index_gb * vectors__replicas * vector_growth.sum(axis=0) * one_month


@quantity("GB * month", "Hot storage of the index", "索引热存储量", when=keeping)
def vector_hot_gb_months(vector_gb_months: Array, vectors__hot_share: Array) -> Array:
    """What is read often."""
    return vector_gb_months * vectors__hot_share


@quantity("GB * month", "Cold storage of the index", "索引冷存储量", when=keeping)
def vector_cold_gb_months(vector_gb_months: Array, vectors__hot_share: Array) -> Array:
    """What is read seldom."""
    return vector_gb_months * (1.0 - vectors__hot_share)


@quantity("1", "Share of the index in each month", "各月索引占比", when=keeping, **MONTH)
def vector_month_share(vector_growth: Array) -> Array:
    """By its size."""
    return vector_growth / vector_growth.sum(axis=0)


@cost("Hot vectors", "热向量存储", KEPT, part="vectors", when=keeping)
def hot_vector_cost(vector_hot_gb_months: Array, price_hot_storage: Array) -> Array:
    """In warm storage."""
    return vector_hot_gb_months * price_hot_storage


@cost("Cold vectors", "冷向量存储", KEPT, part="vectors", when=keeping)
def cold_vector_cost(vector_cold_gb_months: Array, price_archive_storage: Array) -> Array:
    """In the archive."""
    return vector_cold_gb_months * price_archive_storage


@quantity("FLOP", "Operations of embedding", "向量化计算量", source=KAPLAN, when=keeping)
def embedding_flops(
    forward_flops_per_parameter_token: float, multiplied_parameters: Array, vectors__embedding_tokens: Array
) -> Array:
    """A forward pass over the corpus."""
    return forward_flops_per_parameter_token * multiplied_parameters * vectors__embedding_tokens


@quantity(HOURS, "Accelerator-hours of embedding", "向量化卡时", when=keeping)
def embedding_accelerator_hours(embedding_flops: Array, peak_flops_per_second: Array, forward_mfu: Array) -> Array:
    """At the MFU of forward passes."""
    return embedding_flops / (peak_flops_per_second * forward_mfu) / SECONDS_PER_HOUR


@quantity("vector", "Vectors kept at the end", "期末向量条数", when=keeping)
def final_vectors(
    vectors__count: Array, vectors__growth_per_month: Array, vectors__months: Array, one_month: float
) -> Array:
    """In the last month, after the growth of those before; a store may shrink."""
    return vectors__count * (1.0 + vectors__growth_per_month) ** (vectors__months / one_month - 1.0)


@quantity("money / vector", "Cost of a vector", "单条向量成本", when=keeping)
def cost_per_vector(total_cost: Array, vectors__count: Array) -> Array:
    """Of those at the start, over all months."""
    return total_cost / vectors__count
