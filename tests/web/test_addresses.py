"""Every address there is, pages and API, tried by people of another team and by nobody.

An address that names a thing of a team is a 404 for another team, whatever is sent; one that names nothing never shows
anything of that team. An address that the tables here do not know fails the test: then decide whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from budgets.models import AssetCharge, Stop
from estimates.models import Accelerator
from overruns.guards import set_guard
from teams import services as teams
from teams.delivery import services as delivery
from teams.models import Notification
from tests.web.test_roles import TODAY, is_booked, is_charged, loop  # noqa: F401
from usage.clusters.models import CardLot, CardWindow, Cluster, ClusterPartition
from usage.models import Import, MonthDraft, Reassignment, RecurringBooking, Scope

PUBLIC = {"health", "api-schema", "api-token", "login", "logout", "look"}
"""Open to whoever has not signed in."""
OF_NOBODY = {
    "price",
    "price-export",
    "recurring-new",
    "api-closing-close",
    "api-closing-reopen",
    "api-can-start-started",
}
OF_NOBODY |= {"api-can-start-end"}
"""What they name belongs to no team: a price, a kind of file, a month; or the team is named by what is sent."""
OF_THE_HOUSE = {"rule", "cluster", "reassign", "statement", "import", "source", "period", "mapping", "feed", "api-rule"}
OF_THE_HOUSE |= {"api-reassign", "api-statement", "api-import", "api-source", "api-period", "api-feed", "api-rejected"}
"""Beginnings of names of what the whole organisation keeps: there a person of a team may also hear who does."""
SECRET = ("Base 7B", "Xanadu")
ANYWHERE = {"line_id": "compute", "flag_id": "flag", "retrospective_id": "retrospective", "number": "proposal"}
KEYS: dict[str, Callable[[Any], Any]] = {
    "api-estimate": lambda s: s.proposal.versions.get().estimate_id,
    "plan-history": lambda s: s.proposal.versions.get().estimate_id,
    "api-booking": lambda s: s.booking.pk,
    "booking": lambda s: s.booking.pk,
    "api-recurring-month": lambda s: s.draft.pk,
    "recurring-month": lambda s: s.draft.pk,
    "api-recurring": lambda s: s.recurring.pk,
    "recurring": lambda s: s.recurring.pk,
    "api-asset": lambda s: s.asset.pk,
    "asset": lambda s: s.asset.pk,
    "api-guard": lambda s: s.guard.pk,
    "api-stop": lambda s: s.stop.pk,
    "api-threshold": lambda s: s.compute.thresholds.first().pk,
    "api-reassignment": lambda s: s.reassignment.pk,
    "api-period": lambda s: s.scope.pk,
    "price": lambda s: 1,
}
"""Of addresses whose parameter is called `pk`, by the longest beginning of their name."""
SLUGS: dict[str, Callable[[Any], Any]] = {
    "api-run": lambda s: s.run.slug,
    "run": lambda s: s.run.slug,
    "cluster": lambda s: s.cluster.slug,
    "statement": lambda s: s.team.slug,
    "api-statement": lambda s: s.team.slug,
    "api-project": lambda s: s.project.slug,
    "project": lambda s: s.project.slug,
    "line": lambda s: s.project.slug,
    "threshold": lambda s: s.project.slug,
    "proposal": lambda s: s.project.slug,
    "": lambda s: s.source.slug,
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "threshold_id": lambda s: s.compute.thresholds.first().pk,
    "lot": lambda s: s.lot.pk,
    "window": lambda s: s.window.pk,
    "partition": lambda s: s.partition.pk,
    "import_id": lambda s: s.delivery.pk,
    "rule_id": lambda s: s.rule.pk,
    "scope_id": lambda s: s.scope.pk,
    "reassignment_id": lambda s: s.reassignment.pk,
    "use_id": lambda s: s.asset.uses.first().pk,
    "charge_id": lambda s: s.charge.pk,
    "guard_id": lambda s: s.guard.pk,
    "stop_id": lambda s: s.stop.pk,
    "action_id": lambda s: s.retrospective.actions.first().pk,
    "webhook_id": lambda s: s.webhook.pk,
    "token_id": lambda s: s.token.pk,
    "notification_id": lambda s: s.notification.pk,
    "job": lambda s: "4711",
    "month": lambda s: f"{TODAY:%Y-%m}",
    "kind": lambda s: "csv",
    "basis": lambda s: "role",
}


def addresses() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every named address outside the admin panel, with the names of its parameters."""

    def walk(patterns: list[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for each in patterns:
            if isinstance(each, URLResolver):
                if each.app_name != "admin":
                    yield from walk(each.url_patterns)
            elif isinstance(each, URLPattern) and each.name:
                yield each.name, tuple(each.pattern.converters)

    return walk(get_resolver().url_patterns)


PARAMETERS = dict(addresses())
PLAIN = sorted(name for name, parameters in PARAMETERS.items() if not parameters)
NAMING = sorted(name for name, parameters in PARAMETERS.items() if parameters)


@pytest.fixture
def house(loop):  # noqa: F811
    """Everything of Foundation that an address can name."""
    is_booked(loop)
    is_charged(loop)
    loop.charge = AssetCharge.objects.get()
    now = timezone.now()
    loop.delivery = Import.objects.create(
        source=loop.source, name="Xanadu.csv", sha256="0" * 64, size=1, received_at=now
    )
    loop.scope = Scope.objects.create(source=loop.source, key="Xanadu", month=TODAY.replace(day=1), live=loop.delivery)
    loop.recurring = RecurringBooking.objects.create(
        basis="amount", name="Xanadu", project=loop.project, category="data", currency="USD", amount=5,
        starts_on=TODAY.replace(day=1),
    )  # fmt: skip
    loop.draft = MonthDraft.objects.create(recurring=loop.recurring, month=TODAY.replace(day=1), amount=5)
    loop.guard = set_guard(by=loop.manager, measure="actual", project=loop.project, amount=Decimal(5))
    loop.stop = Stop.objects.create(project=loop.project, reason="Xanadu", at=now)
    loop.reassignment = Reassignment.objects.create(
        starts_on=TODAY, project=loop.project, reason="Xanadu", made_by=loop.operator
    )
    card = Accelerator.objects.create(slug="card-x", name="X", vendor="x")
    loop.cluster = Cluster.objects.create(slug="hpc-1", name="HPC", team=loop.team, source=loop.source)
    loop.lot = CardLot.objects.create(cluster=loop.cluster, accelerator=card, cards=8, starts_on=TODAY)
    loop.window = CardWindow.objects.create(
        cluster=loop.cluster, starts_at=now, ends_at=now + timedelta(hours=1), reason="Xanadu"
    )
    loop.partition = ClusterPartition.objects.create(cluster=loop.cluster, name="a", accelerator=card, mode="own")
    loop.webhook, _secret = delivery.add_webhook(
        by=loop.manager, team=loop.team, name="Xanadu", form="json", url="https://example.com/hook"
    )
    loop.token, _secret = teams.issue_token(by=loop.alice, now=now)
    loop.notification = Notification.objects.create(user=loop.alice, kind="line_warning", project=loop.project)
    return loop


def address(name: str, s: Any) -> str:
    return reverse(name, args=[argument(name, parameter, s) for parameter in PARAMETERS[name]])


def argument(name: str, parameter: str, s: Any) -> Any:
    """What stands for the parameter; unknown ones fail the test."""
    if parameter in ANYWHERE:
        return getattr(s, ANYWHERE[parameter]).pk
    if parameter in ("pk", "slug"):
        known = KEYS if parameter == "pk" else SLUGS
        fitting = [each for each in known if name.startswith(each)]
        assert fitting, f"say what {parameter} of {name} names"
        return known[max(fitting, key=len)](s)
    return OTHERS[parameter](s)


def answers(who: Any, name: str, s: Any) -> Iterator[tuple[int, str]]:
    """Code and text of what comes back of looking, and of every way of sending; and nothing of it stays."""
    client = Client(raise_request_exception=False)
    if who is not None:
        client.force_login(who)
    for send in (client.get, client.post, client.put, client.patch):
        point = transaction.savepoint()
        answer = send(address(name, s))
        said = b"".join(answer.streaming_content) if answer.streaming else answer.content
        transaction.savepoint_rollback(point)
        yield answer.status_code, f"{answer.get('Location', '')} {said.decode()}"


def test_what_belongs_to_another_team_is_not_there(house):
    wrong = []
    for name in [name for name in NAMING if name not in OF_NOBODY]:
        accepted = {404, 403, 302, 405} if any(map(name.startswith, OF_THE_HOUSE)) else {404, 405}
        for who in (house.charlie, house.other_manager):
            found = list(answers(who, name, house))
            codes = [code for code, _said in found]
            shown = [secret for secret in SECRET if any(secret in said for _code, said in found)]
            if shown or not set(codes) <= accepted or set(codes) == {405}:
                wrong.append((name, who.email, codes, shown))

    assert not wrong, "\n".join(map(str, wrong))


def test_no_page_shows_anything_of_another_team(house):
    wrong = []
    for name in PLAIN:
        for who in (house.charlie, house.other_manager):
            found = list(answers(who, name, house))
            shown = [secret for secret in SECRET if any(secret in said for _code, said in found)]
            if shown or any(code >= 500 for code, _said in found):
                wrong.append((name, who.email, [code for code, _said in found], shown))

    assert not wrong, "\n".join(map(str, wrong))


def test_nobody_is_led_to_sign_in_or_refused(house):
    wrong = [
        (name, code)
        for name in sorted(set(PARAMETERS) - PUBLIC)
        for code, said in answers(None, name, house)
        if code not in (401, 403, 405) and not (code == 302 and said.startswith("/login/"))
    ]

    assert not wrong, "\n".join(map(str, wrong))
