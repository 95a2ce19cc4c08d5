"""More interruptions than the mean time between failures predicts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from budgets.models import Proposal, ProposalVersion
from overruns.interruptions import watch_interruptions
from overruns.models import Episode
from overruns.poisson import upper_quantile
from teams.models import Notification
from tests.budgets import factories
from tests.letters import letters
from tests.usage.bills import deliver
from usage import rules
from usage.models import AllocationRule, Cluster, Source

HEADER = "JobID|Account|Cluster|Partition|State|Start|End|ElapsedRaw|AllocTRES|NodeList\n"
NOW = datetime(2026, 3, 21, 9, tzinfo=UTC)
LAST = 20


@pytest.mark.parametrize(
    ("expected", "most"),
    [
        # from tables: P(X ≤ 4 | 1) = 0.9963, P(X ≤ 3 | 1) = 0.9810; P(X ≤ 18 | 10) = 0.9928, P(X ≤ 17 | 10) = 0.9857
        (0, 0),
        (0.005, 0),
        (0.1, 1),
        (1, 4),
        (10, 18),
    ],
)
def test_the_upper_quantile_of_a_poisson_count(expected, most):
    assert upper_quantile(expected, 0.99) == most


def test_a_large_mean_does_not_vanish():
    # mean + 2.326 standard deviations is 5,164.5
    assert upper_quantile(5000, 0.99) == pytest.approx(5165, abs=2)


def job(number: int, day: int, *, state: str = "COMPLETED", hours: int = 24, cards: int = 8, **fields: str) -> str:
    account, cluster = fields.get("account", "base"), fields.get("cluster", "north")
    start = datetime(2026, 3, day)
    end = start + timedelta(hours=hours)
    return (
        f"{number}|{account}|{cluster}|gpu|{state}|{start:%Y-%m-%dT%H:%M:%S}|{end:%Y-%m-%dT%H:%M:%S}|{hours * 3600}|"
        f"gres/gpu:h100={cards}|{fields.get('nodes', '')}\n"
    )


@pytest.fixture
def log(stage):
    """Accounts of a job log are the projects; a last job says until when the log is whole."""
    Source.objects.create(slug="jobs", name="Jobs", meaning="log", money="none")
    for number, (account, project) in enumerate((("base", stage.project), ("rank", stage.other_project))):
        AllocationRule.objects.create(
            position=number,
            name=account,
            project=project,
            conditions=[{"field": "account", "operator": "equals", "values": [account]}],
        )
    rules.apply_rules(by=stage.operator)

    def delivered(*jobs: str) -> None:
        deliver(HEADER + "".join(jobs) + job(99_999, LAST, hours=1), source="jobs")

    return delivered


def failing(*days: int, **fields: str) -> list[str]:
    return [job(100 + day, day, state="NODE_FAIL", hours=2, **fields) for day in days]


def watch(day: int = 21) -> list[Episode]:
    return watch_interruptions(now=datetime(2026, 3, day, 9, tzinfo=UTC))


def of_projects(found: list[Episode]) -> list[Episode]:
    return [each for each in found if each.project_id]


def test_more_interruptions_than_predicted_are_told_once_with_their_nodes_and_jobs(stage, log):
    # 8 cards for 24 h on one day and three failures of 2 h: 240 of the 45,000 hours between failures of Hopper
    log(job(1, 10), *failing(11, 12, nodes="gpu[01-02]"), *failing(13, nodes="gpu02"))

    (found,) = of_projects(watch())

    assert (found.project, found.value, found.expected) == (stage.project, 3, Decimal("0.01"))
    assert (found.first_day, found.last_day) == (date(2026, 3, 11), date(2026, 3, 13))
    assert found.movers[:2] == [
        {"node": "gpu02", "name": "gpu02", "amount": "3"},
        {"node": "gpu01", "name": "gpu01", "amount": "2"},
    ]
    assert [mover["job"] for mover in found.movers[2:]] == ["113", "112", "111"]
    told = Notification.objects.filter(kind="interruptions_high", project=stage.project)
    assert {each.user for each in told} == {stage.manager, stage.operator}
    text = letters(stage.manager)[0].text
    assert "3 jobs failed with their node" in text and "gpu02, gpu01" in text
    assert watch() == []


def test_two_are_chance_and_other_ends_are_no_interruptions(stage, log):
    log(
        *failing(11, 12),
        *[
            job(200 + day, day, state=state, hours=2)
            for day, state in ((13, "FAILED"), (14, "PREEMPTED"), (15, "TIMEOUT"))
        ],
    )

    assert watch() == []


def test_as_many_as_the_hours_predict_are_no_surprise(stage, log):
    # 12 days of 2,000 cards are 576,000 hours: 12.8 failures are expected, up to 22 in 99 of 100 times
    log(*[job(day, day, cards=2000) for day in range(7, 19)], *failing(*range(8, 19)))

    assert watch() == []


def test_the_plan_of_the_project_says_what_is_to_be_expected(stage, log):
    # an approved plan with a failure every 24 h of its 8 cards: 192 card-hours
    proposal = Proposal.objects.create(
        project=stage.project, requester=stage.alice, title="Base", task_type="pretrain", state="approved"
    )
    estimate = factories.estimate(stage.project, stage.alice, {("compute", "2026-03"): 1})
    estimate.priced["quantities"] = {"cluster_mtbf_hours": {"p50": 24.0}, "accelerator_count": {"p50": 8.0}}
    estimate.save()
    ProposalVersion.objects.create(
        proposal=proposal,
        number=1,
        estimate=estimate,
        currency="USD",
        state="approved",
        ask_total=1,
        submitted_by=stage.alice,
        submitted_at=NOW,
        decided_at=NOW,
    )
    log(*[job(day, day) for day in range(7, 12)], *failing(12, 13, 14, 15))

    begun = watch()

    # 5 · 192 + 4 · 16 hours are 5.3 failures: four of the project are fewer; the cluster has no plan
    assert of_projects(begun) == []
    assert [each.sku for each in begun] == ["north"]


def test_a_cluster_has_the_name_of_the_register_and_its_owner_hears(stage, log):
    Cluster.objects.create(
        slug="hall", name="Hall", source=Source.objects.get(slug="jobs"), log_name="north", team=stage.other_team
    )
    log(*failing(11, 12), *failing(13, account="rank", cluster="south"), *failing(15, account="rank"))

    (found,) = watch()

    assert (found.project, found.sku, found.value) == (None, "Hall", 3)
    told = Notification.objects.filter(kind="interruptions_high")
    assert {each.user for each in told} == {stage.operator, stage.other_manager}


def test_an_episode_lasts_ends_and_a_later_one_is_another(stage, log):
    log(*failing(8, 9, 10))
    (first,) = of_projects(watch())

    deliver(HEADER + "".join(failing(19)) + job(99_998, 21, hours=1), source="jobs")
    assert watch(22) == []
    first.refresh_from_db()
    assert (first.value, first.last_day, first.ended_at) == (4, date(2026, 3, 19), None)

    deliver(HEADER + job(99_997, 31, hours=1), source="jobs")
    assert watch_interruptions(now=datetime(2026, 4, 1, 9, tzinfo=UTC)) == []
    first.refresh_from_db()
    assert first.ended_at is not None

    again = failing(27, 28, 29)
    deliver(HEADER + "".join(again), source="jobs")
    (second,) = of_projects(watch_interruptions(now=datetime(2026, 4, 1, 10, tzinfo=UTC)))
    assert second.pk != first.pk
    assert Notification.objects.filter(kind="interruptions_high", user=stage.manager).count() == 2


def test_what_wavers_at_the_limit_is_not_told_again(stage, log):
    log(*failing(8, 9, 10))
    (first,) = of_projects(watch())
    deliver(HEADER + "".join(job(100 + day, day, hours=3) for day in (10,)), source="jobs")
    Episode.objects.update(ended_at=NOW)

    assert watch() == []

    first.refresh_from_db()
    assert Notification.objects.filter(kind="interruptions_high", user=stage.manager).count() == 1


def test_the_page_of_growth_shows_them_to_whom_they_concern(client, stage, log):
    log(*failing(11, 12, 13, nodes="gpu07"))
    watch()

    client.force_login(stage.alice)
    own = client.get("/warnings/growth/").content.decode()
    client.force_login(stage.charlie)
    others = client.get("/warnings/growth/").content.decode()

    assert "node gpu07: 3 times" in own and "north" not in own
    assert "gpu07" not in others
