"""Totals: the sum of all costs, the same divided by cause and by line, and what is laid on top."""

from __future__ import annotations

from core.vocabulary import CAUSES, Category
from estimates.engine.conditions import is_task
from estimates.engine.graph import Quantity, quantity
from estimates.engine.plan import Plan
from estimates.engine.sampling import Array

COST_LINES = tuple(category for category in CAUSES if category is not Category.HIDDEN)
BEHAVIOURS = ("one_off", "recurring", "fixed", "marginal", "elastic")
RUN_BEHAVIOUR = {"finetune": "marginal", "inference": "elastic", "evaluation": "recurring"}


def behaviour_of(item: Quantity, plan: Plan) -> str:
    """How a cost behaves; computing is a one-off for the training of a model and marginal for fine-tuning."""
    return RUN_BEHAVIOUR.get(plan.task, "one_off") if item.behaviour == "run" else item.behaviour


@quantity("money", "Total", "总成本", gathers=lambda item: item.is_cost)
def total_cost(*parts: Array) -> Array:
    """Every cost once."""
    return sum(parts)  # type: ignore[return-value]


@quantity("money", "Contingency", "预备金")
def contingency_cost(total_cost: Array, contingency: Array) -> Array:
    """A share of all other cost; outside the distribution of the estimate."""
    return total_cost * contingency


@quantity("money", "Amortised total", "摊销后总成本")
def amortised_total(total_cost: Array, amortised_data_cost: Array, data__reusable_for_projects: Array) -> Array:
    """With the k-th part of data that k projects use."""
    return total_cost - amortised_data_cost * (data__reusable_for_projects - 1.0)


@quantity("hour", "Hours of the project", "项目时长")
def project_hours(hours_per_month: float, one_month: float) -> float:
    """A month, where nothing says how long the work takes."""
    return hours_per_month * one_month


@project_hours.variant(when=is_task("inference"))
def project_hours_of_service(inference__months: Array, hours_per_month: float) -> Array:
    """As long as the service runs."""
    return inference__months * hours_per_month


@project_hours.variant(when=is_task("vector_store"))
def project_hours_of_vectors(vectors__months: Array, hours_per_month: float) -> Array:
    """As long as the vectors are kept."""
    return vectors__months * hours_per_month


@project_hours.variant()
def project_hours_of_run(elapsed_hours: Array) -> Array:
    """As long as the main run, also where people work longer: they are paid by their own months."""
    return elapsed_hours


@project_hours.variant()
def project_hours_of_people(people__months: Array, hours_per_month: float) -> Array:
    """As long as people work on it."""
    return people__months.max(axis=0) * hours_per_month


@quantity("month", "Months of the project", "项目月数")
def project_months(project_hours: Array, hours_per_month: float) -> Array:
    """The same in months."""
    return project_hours / hours_per_month
