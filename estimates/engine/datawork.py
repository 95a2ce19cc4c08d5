"""Data: licences, collection, processing, annotation, compliance. Cash carries an asset whole."""

from __future__ import annotations

import numpy as np

from core.vocabulary import Category
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array

ONCE = Place(Category.DATA, Category.DATA, "one_off", "upfront_month_share")


@cost("Licences", "数据授权", ONCE, part="licence")
def licence_cost(data__licence_cost: Array) -> Array:
    """As agreed."""
    return data__licence_cost


@cost("Collection", "数据采集", ONCE, part="collection")
def collection_cost(data__collection_cost: Array) -> Array:
    """As planned."""
    return data__collection_cost


@cost("Cleaning, de-duplication, quality control, mixing", "清洗、去重、质检、配比", ONCE, part="processing")
def processing_cost(data__raw_tb: Array, data__processing_cost_per_tb: Array) -> Array:
    """By the terabyte of raw data."""
    return data__raw_tb * data__processing_cost_per_tb


@quantity("item", "Items to annotate", "标注条数")
def annotation_items(data__annotation_items: Array) -> Array:
    """As planned."""
    return data__annotation_items


@annotation_items.variant()
def labels_to_annotate(data__annotation_items: Array, finetune__label_count: Array) -> Array:
    """At least the labels that the fine-tuning needs."""
    return np.maximum(data__annotation_items, finetune__label_count)


@cost("Annotation", "标注", ONCE, part="annotation")
def annotation_cost(annotation_items: Array, data__annotation_price: Array) -> Array:
    """By the item."""
    return annotation_items * data__annotation_price


@cost("Compliance", "合规", ONCE, part="compliance")
def compliance_cost(data__compliance_cost: Array) -> Array:
    """Not to be saved on."""
    return data__compliance_cost


@quantity("money", "Data as one project carries it", "按单个项目摊销的数据成本")
def amortised_data_cost(
    licence_cost: Array,
    collection_cost: Array,
    processing_cost: Array,
    annotation_cost: Array,
    compliance_cost: Array,
    data__reusable_for_projects: Array,
) -> Array:
    """The k-th part of an asset that k projects use."""
    whole = licence_cost + collection_cost + processing_cost + annotation_cost + compliance_cost
    return whole / data__reusable_for_projects
