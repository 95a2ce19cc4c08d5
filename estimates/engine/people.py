"""People and platform: planned posts, fees, and the labour that interruptions take."""

from __future__ import annotations

from core.vocabulary import Category
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array

WORKING_HOURS_PER_MONTH = 160.0
PEOPLE = Place(Category.PEOPLE_PLATFORM, Category.PEOPLE_PLATFORM, "recurring", "people_month_share")
HIDDEN_PEOPLE = PEOPLE.but(cause=Category.HIDDEN)


@quantity("money", "Cost of each post", "各岗位成本", axis="row")
def people_row_cost(people__fte: Array, people__months: Array, people_rate: Array) -> Array:
    """Posts · months · rate of the role."""
    return people__fte * people__months * people_rate


@quantity("fte * month", "Person-months", "人月")
def person_months(people__fte: Array, people__months: Array) -> Array:
    """Of all posts together."""
    return (people__fte * people__months).sum(axis=0)


@cost("People", "人力", PEOPLE, part="people")
def people_cost(people_row_cost: Array) -> Array:
    """All posts."""
    return people_row_cost.sum(axis=0)


@cost("Troubleshooting", "排障成本", HIDDEN_PEOPLE, part="troubleshooting")
def troubleshooting_cost(people_cost: Array, operations__troubleshooting_share: Array) -> Array:
    """What the complexity of systems costs, as a share of people."""
    return people_cost * operations__troubleshooting_share


@cost("Learning", "学习成本", HIDDEN_PEOPLE, part="learning")
def learning_cost(people_cost: Array, operations__learning_share: Array) -> Array:
    """What it costs a team to learn, as a share of people."""
    return people_cost * operations__learning_share


@cost("Platform fees", "平台费用", PEOPLE.but(spread="project_month_share"), part="platform")
def platform_cost(operations__platform_fee_per_month: Array, project_months: Array) -> Array:
    """Schedulers, tracking, frameworks; month after month."""
    return operations__platform_fee_per_month * project_months


@quantity("fte", "One post", "一个岗位")
def one_post() -> float:
    """The unit."""
    return 1.0


@quantity("hour / month", "Working hours in a month", "每月工时")
def working_hours_per_month() -> float:
    """Of one post."""
    return WORKING_HOURS_PER_MONTH


@quantity("fte * hour", "Labour at interruptions", "中断处理工时")
def recovery_labour_hours(
    interruptions: Array, operations__hours_per_interruption: Array, operations__automation: Array, one_post: float
) -> Array:
    """As far as recovery is not automatic."""
    return interruptions * operations__hours_per_interruption * (1.0 - operations__automation) * one_post


@cost("Labour at interruptions", "中断处理人力", PEOPLE.but(spread="run_month_share"), part="recovery")
def recovery_labour_cost(recovery_labour_hours: Array, recovery_rate: Array, working_hours_per_month: float) -> Array:
    """Counted where the plan names people or a role to recover."""
    return recovery_labour_hours * recovery_rate / working_hours_per_month
