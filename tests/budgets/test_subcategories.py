"""Lines of parts of a category: which takes what, so that no cost counts on two lines and none is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from budgets.models import BudgetLine
from budgets.queries import line_status, line_statuses
from budgets.services import approval, lines
from budgets.subcategories import SUBCATEGORIES, part_in_sql, subcategory_of
from budgets.templates import TEMPLATES
from core.errors import DomainError, NotAllowed
from core.vocabulary import Category, TaskType
from tests.budgets import factories

NOW = datetime(2027, 6, 1, tzinfo=UTC)
STAGES = [
    "",
    "idle",
    "annotation",
    "cleaning",
    "unheard of",
    *(stage for each in SUBCATEGORIES.values() for stage in each.stages),
]


def actual(line) -> Decimal:
    return line_status(line, now=NOW).actual


def test_a_part_takes_what_belongs_to_it_and_the_category_takes_the_rest(stage):
    whole = factories.line(stage.project)
    training = factories.line(stage.project, subcategory="training")
    hidden = factories.line(stage.project, subcategory="hidden")
    spares = factories.line(stage.project, subcategory="spares")
    factories.cost(stage.project, 1, task_type="pretrain")
    factories.cost(stage.project, 2, task_type="inference")
    factories.cost(stage.project, 4, category="hidden", task_type="pretrain")
    factories.cost(stage.project, 8, category="hidden", stage="idle")
    factories.cost(stage.project, 16)

    assert [actual(line) for line in (training, hidden, spares, whole)] == [1, 4, 8, 2 + 16]


def test_of_two_lines_that_fit_the_closer_one_carries_the_cost(stage):
    tuning = factories.line(stage.project, task_type="finetune")
    training = factories.line(stage.project, subcategory="training")
    both = factories.line(stage.project, subcategory="training", task_type="ablation")
    factories.cost(stage.project, 1, task_type="finetune")
    factories.cost(stage.project, 2, task_type="ablation")

    # finetuning is training: the subcategory is closer than the task; with both, closer still
    assert [actual(line) for line in (tuning, training, both)] == [0, 1, 2]


def test_without_a_line_of_the_part_its_cost_stays_on_the_category(stage):
    whole = factories.line(stage.project, "data")
    factories.cost(stage.project, 5, category="data", stage="annotation")

    assert actual(whole) == 5


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    category=st.sampled_from([str(each) for each in Category]),
    task_type=st.sampled_from(["", *(str(each) for each in TaskType)]),
    stage_=st.sampled_from(STAGES),
)
def test_the_database_and_the_product_agree_on_the_part(db, category, task_type, stage_):
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {part_in_sql('used')} FROM (SELECT %s AS category, %s AS task_type, %s AS stage) used",
            [category, task_type, stage_],
        )
        assert cursor.fetchone()[0] == subcategory_of(category, task_type, stage_)


def test_with_lines_of_every_part_each_cost_counts_exactly_once(stage):
    for key, each in {"": None, **SUBCATEGORIES}.items():
        for category in [each.parent] if each else [Category.COMPUTE, Category.DATA, Category.STORAGE]:
            factories.line(stage.project, category, subcategory=key)
    factories.line(stage.project, task_type="pretrain")
    total = 0
    for number, category in enumerate(["compute", "hidden", "data", "storage"], start=1):
        for stage_ in STAGES:
            factories.cost(stage.project, number, category=category, stage=stage_, task_type="pretrain")
            total += number

    statuses = line_statuses(list(BudgetLine.objects.all()), now=NOW)

    assert sum(status.actual for status in statuses.values()) == total


def test_an_approval_goes_to_the_line_of_the_part(stage):
    whole, training = factories.line(stage.project), factories.line(stage.project, subcategory="training")
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100})

    approval.approve_proposal(step, by=stage.manager)

    assert (line_status(whole).committed, line_status(training).committed) == (0, 100)


def test_a_part_belongs_to_its_category(stage):
    with pytest.raises(DomainError, match="not part of the category") as refused:
        lines.open_line(
            by=stage.manager,
            project=stage.project,
            category="storage",
            period_kind="year",
            period=factories.YEAR,
            subcategory="annotation",
        )
    assert refused.value.faults[0].accepted == "corpora, checkpoints, vectors"


def test_a_set_opens_the_lines_that_do_not_run_yet_each_watched_in_its_way(stage):
    training = factories.line(stage.project, subcategory="training", granted=5)

    opened = lines.open_lines(
        by=stage.manager, project=stage.project, templates=TEMPLATES, period_kind="year", period=factories.YEAR
    )

    assert len(opened) == len(TEMPLATES) - 1
    assert training not in opened
    shares = {
        (line.category, line.subcategory): sorted(
            (each.basis, each.share, each.quantile) for each in line.thresholds.all()
        )
        for line in opened
    }
    assert shares["contingency", ""] == []
    assert shares["data", "data_assets"] == [
        ("actual", Decimal("0.9"), ""),
        ("actual", Decimal("1"), ""),
        ("committed", Decimal("0.9"), ""),
    ]
    assert ("forecast", Decimal("1"), "p90") in shares["compute", "inference"]
    again = lines.open_lines(
        by=stage.manager,
        project=stage.project,
        templates=["training", "power"],
        period_kind="year",
        period=factories.YEAR,
    )
    assert again == []


def test_a_set_is_opened_by_who_may_fund(stage):
    given = {"project": stage.project, "period_kind": "year", "period": factories.YEAR}
    with pytest.raises(NotAllowed):
        lines.open_lines(by=stage.charlie, templates=["power"], **given)
    with pytest.raises(DomainError, match="at least one line"):
        lines.open_lines(by=stage.manager, templates=[], **given)
    with pytest.raises(DomainError, match="at least one line") as refused:
        lines.open_lines(by=stage.manager, templates=["gold"], **given)
    assert "training" in refused.value.faults[0].accepted
