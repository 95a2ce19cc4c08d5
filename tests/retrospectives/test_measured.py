"""From what was measured of a finished run to the baselines of the next estimate."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.urls import reverse

from core.errors import DomainError
from estimates.baselines.models import Baseline
from retrospectives import services
from retrospectives.measured import Measured, Planned, lessons
from retrospectives.models import Measurement, Retrospective
from retrospectives.queries import measured_so_far
from tests.budgets import factories as budgets
from usage.models import DailyUsage, Run, RunMetric

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)


def opened(stage) -> Retrospective:
    proposal, _step = budgets.submitted(stage.project, stage.alice, {("compute", "2027-01"): 50})
    return Retrospective.objects.create(
        project=stage.project, proposal=proposal, due_on=date(2027, 3, 15), currency="USD", difference=Decimal(0)
    )


def close(retrospective, stage, measured, **facts):
    services.write_retrospective(retrospective, by=stage.alice, cause="restarts", acceptance="met")
    services.write_measurement(retrospective, by=stage.alice, measured=measured, **facts)
    return services.close_retrospective(retrospective, by=stage.manager, now=NOW)


def test_lessons_follow_from_hours_shares_and_the_plan():
    measured = Measured(
        accelerator_hours=Decimal(2000),
        experiment_share=Decimal("0.2"),
        mfu=Decimal("0.4"),
        goodput=Decimal("0.9"),
        rollback_share=Decimal("0.1"),
        interruptions=Decimal(4),
        price_per_accelerator_hour=Decimal("2.2"),
    )
    planned = Planned(
        training_flops=Decimal("2e18"),
        peak_flops_per_second=Decimal("1e12"),
        ideal_accelerator_hours=Decimal(1000),
        mfu=Decimal("0.5"),
        hourly_rate=Decimal(2),
    )

    found = lessons(measured, planned)

    # 1,600 hours of the main run; ideal hours at the measured MFU: 1000 · 0.5 ÷ 0.4 = 1,250
    assert found["compute.mfu"] == Decimal("0.4")
    assert found["compute.paid_mfu"] == pytest.approx(Decimal(2e18 / (1600 * 1e12 * 3600)), rel=Decimal("1e-6"))
    assert found["experiments.ratio"] == Decimal("0.25")
    assert found["reliability.accelerator_mtbf_hours"] == 400
    assert found["price_variance"] == Decimal("1.1")
    assert found["redundancy_factor"] == Decimal("1.6")
    # goodput 0.9 with a tenth rolled back: the machines lost nothing else
    assert found["retry_factor"] == 1
    assert found["rollback_factor"] == pytest.approx(Decimal(10) / 9, rel=Decimal("1e-8"))
    assert found["experiment_factor"] == Decimal("1.25")
    assert found["rest_factor"] == pytest.approx(
        Decimal("1.6") / (Decimal(10) / 9 * Decimal("1.25")), rel=Decimal("1e-8")
    )


def test_what_was_not_measured_teaches_nothing():
    assert lessons(Measured(), Planned()) == {}
    assert lessons(Measured(accelerator_hours=Decimal(5)), Planned()) == {}
    assert set(lessons(Measured(mfu=Decimal("0.3")), Planned())) == {"compute.mfu"}


def test_closing_writes_the_lessons_down_for_the_team(stage):
    retrospective = opened(stage)
    measured = Measured(mfu=Decimal("0.37"), experiment_share=Decimal("0.5"))

    close(
        retrospective, stage, measured, runs=3, since=date(2026, 1, 1), until=date(2026, 2, 1), accelerator="h100-sxm"
    )

    rows = {row.quantity: row for row in Baseline.objects.all()}
    assert set(rows) == {"compute.mfu", "experiments.ratio", "experiment_factor"}
    mfu = rows["compute.mfu"]
    assert (mfu.mode, mfu.runs, mfu.team, mfu.project) == (Decimal("0.37"), 3, stage.team, stage.project)
    assert (mfu.accelerator_family, rows["experiments.ratio"].accelerator_family) == ("hopper", "")
    assert (mfu.since, mfu.until, mfu.valid_from) == (date(2026, 1, 1), date(2026, 2, 1), date(2026, 11, 29))
    assert mfu.link == reverse("retrospective", args=[retrospective.pk])
    assert rows["experiments.ratio"].mode == 1


def test_closing_without_measured_figures_writes_none(stage):
    retrospective = opened(stage)
    services.write_retrospective(retrospective, by=stage.alice, cause="restarts", acceptance="met")

    services.close_retrospective(retrospective, by=stage.manager, now=NOW)

    assert not Baseline.objects.exists()


def test_figures_that_cannot_be_are_refused_and_charlie_writes_none(stage):
    retrospective = opened(stage)

    with pytest.raises(DomainError) as refused:
        services.write_measurement(
            retrospective, by=stage.alice, measured=Measured(mfu=Decimal("1.2"), interruptions=Decimal(-1)), runs=0
        )
    with pytest.raises(DomainError, match="members"):
        services.write_measurement(retrospective, by=stage.charlie, measured=Measured())

    assert [fault.path for fault in refused.value.faults] == ["mfu", "interruptions", "runs"]
    assert not Measurement.objects.exists()


PLANNED = Planned(training_flops=Decimal("3.6e18"), peak_flops_per_second=Decimal("1e12"))
"""A thousand hours at the peak."""


@pytest.mark.parametrize(
    ("measured", "places"),
    [
        ({"accelerator_hours": "0"}, ["accelerator_hours"]),
        ({"mfu": "0"}, ["mfu"]),
        ({"goodput": "0"}, ["goodput"]),
        ({"rollback_share": "1"}, ["rollback_share"]),
        ({"goodput": "0.95", "rollback_share": "0.1"}, ["goodput"]),
        ({"goodput": "0.9", "rollback_share": "0.1"}, []),
        ({"accelerator_hours": "999"}, ["accelerator_hours"]),
        ({"accelerator_hours": "1000"}, []),
        # half of 1,900 hours are the main run's
        ({"accelerator_hours": "1900", "experiment_share": "0.5"}, ["accelerator_hours"]),
        # at an MFU of 0.4 it takes 2,500 hours, less a fiftieth
        ({"accelerator_hours": "2400", "mfu": "0.4"}, ["accelerator_hours"]),
        ({"accelerator_hours": "2460", "mfu": "0.4"}, []),
    ],
)
def test_figures_that_no_run_can_have_are_called_out(measured, places):
    found = services.contradictions(Measured(**{name: Decimal(value) for name, value in measured.items()}), PLANNED)

    assert [fault.path for fault in found] == places


def test_hours_that_would_beat_the_peak_are_refused_with_the_fewest_there_can_be():
    (fault,) = services.contradictions(Measured(accelerator_hours=Decimal("0.5")), PLANNED)

    assert "faster than these accelerators can" in fault.message
    assert fault.accepted.startswith("at least 1000 ")


def test_a_run_of_no_hours_is_refused_where_it_is_written(stage):
    with pytest.raises(DomainError) as refused:
        services.write_measurement(opened(stage), by=stage.alice, measured=Measured(accelerator_hours=Decimal(0)))

    assert [fault.path for fault in refused.value.faults] == ["accelerator_hours"]
    assert not Measurement.objects.exists()


def test_what_a_plan_makes_impossible_is_not_taught():
    # 100 hours billed where 1,000 were ideal, at an MFU nobody measured
    found = lessons(
        Measured(accelerator_hours=Decimal(100), experiment_share=Decimal(0)),
        Planned(
            training_flops=Decimal("3.6e18"),
            peak_flops_per_second=Decimal("1e12"),
            ideal_accelerator_hours=Decimal(1000),
        ),
    )

    assert set(found) == {"experiments.ratio", "experiment_factor"}


def test_hours_price_and_steps_are_filled_in_from_what_is_known(stage):
    retrospective = opened(stage)
    budgets.cost(stage.project, 300)
    budgets.cost(stage.project, 100)
    budgets.cost(stage.other_project, 999)
    DailyUsage.objects.filter(effective=300).update(accelerator_hours=150)
    DailyUsage.objects.filter(effective=100).update(accelerator_hours=50, task_type="ablation")
    run = Run.objects.create(slug="base", name="base", project=stage.project)
    other = Run.objects.create(slug="other", name="other", project=stage.other_project)
    for step, attempt, value in [(1, 1, 0.4), (2, 1, 0.3), (2, 2, 0.5), (3, 2, 0.4)]:
        RunMetric.objects.create(run=run, name="train/mfu", step=step, attempt=attempt, value=value)
    RunMetric.objects.create(run=other, name="train/mfu", step=1, value=0.9)

    known = measured_so_far(retrospective)

    assert (known["accelerator_hours"], known["experiment_share"]) == (200, Decimal("0.25"))
    assert known["price_per_accelerator_hour"] == 2
    # four steps computed, three kept; one resume
    assert (known["mfu"], known["rollback_share"], known["interruptions"]) == (Decimal("0.4"), Decimal("0.25"), 1)
    assert known["runs"] == 1


def test_the_page_takes_percent_and_shows_what_the_next_estimate_takes(stage, client):
    retrospective = opened(stage)
    client.force_login(stage.manager)
    posted = {"cause": "restarts", "acceptance": "met", "mfu": "41", "runs": "2", "close": "yes"}

    answer = client.post(reverse("retrospective-write", args=[retrospective.pk]), posted)
    page = client.get(reverse("retrospective", args=[retrospective.pk])).content.decode()
    listed = client.get(reverse("baseline-list")).content.decode()

    assert answer.status_code == 302
    assert Baseline.objects.get().mode == Decimal("0.41")
    assert "41.0 %" in page
    assert "41.0 %" in listed


def test_a_share_above_all_comes_back_beside_the_form(stage, client):
    retrospective = opened(stage)
    client.force_login(stage.manager)

    answer = client.post(
        reverse("retrospective-write", args=[retrospective.pk]), {"cause": "x", "acceptance": "met", "mfu": "141"}
    )

    assert answer.status_code == 422
    assert not Measurement.objects.exists()


def test_the_list_of_baselines_has_a_counted_number_of_queries_and_hides_other_teams(
    stage, client, django_assert_num_queries
):
    close(opened(stage), stage, Measured(mfu=Decimal("0.37"), goodput=Decimal("0.9")))
    client.force_login(stage.charlie)
    assert "37.0 %" not in client.get(reverse("baseline-list")).content.decode()
    client.force_login(stage.bob)

    with django_assert_num_queries(10):
        page = client.get(reverse("baseline-list"))

    assert "37.0 %" in page.content.decode()
