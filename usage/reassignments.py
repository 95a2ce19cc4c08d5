"""Re-assignment by hand: usage of some key sets put elsewhere, with a reason, and taken back again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.months import Month
from teams import activity, permissions
from teams.models import Organisation, Project, User

from . import allocation, messages, rules
from .daily import BEARS_MONEY, days_of_records
from .models import AllocationOwner, KeySet, Reassignment
from .pipeline.placement import LAST_DAY
from .pipeline.swap import known_now
from .queries import daily_rows

MOST_KEY_SETS = 2_000
MOST_SHOWN = 200


@transaction.atomic
def reassign(draft: Reassignment, key_sets: Sequence[int], *, by: User) -> Reassignment:
    """Keep a decision and move what it covers: open months, and closed ones only where it says so."""
    rules.lock_rules()
    check(draft, key_sets, by=by)
    draft.made_by = by
    draft.save()
    draft.key_sets.set(key_sets)
    since = known_now()
    rules.carry_out(_moves(draft, key_sets))
    rules.split_again()
    messages.tell_of_reassignment(draft, by=by, reason=draft.reason, since=since)
    activity.record(
        "usage.reassigned",
        by=by,
        project=draft.project,
        subject=draft,
        count=len(key_sets),
        start=draft.starts_on,
        reason=draft.reason,
    )
    return draft


@transaction.atomic
def reverse_reassignment(given: Reassignment, *, by: User, reason: str, now: datetime) -> None:
    """Take a decision back: what it covered goes where the rules say."""
    rules.lock_rules()
    row = Reassignment.objects.select_for_update(of=["self"]).get(pk=given.pk)
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance re-assigns usage."))
    if row.reversed_at is not None:
        raise DomainError(_("It has been reversed already."))
    if not reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])
    row.reversed_at, row.reversed_by, row.reverse_reason = now, by, reason.strip()
    row.save(update_fields=["reversed_at", "reversed_by", "reverse_reason"])
    key_sets = list(row.key_sets.values_list("pk", flat=True))
    since = known_now()
    rules.carry_out(_moves(row, key_sets))
    rules.split_again()
    messages.tell_of_reassignment(row, by=by, reason=row.reverse_reason, since=since)
    activity.record(
        "usage.reassignment_reversed", by=by, project=row.project, subject=row, count=len(key_sets), reason=reason
    )


def preview(draft: Reassignment, key_sets: Sequence[int], *, by: User) -> rules.Preview:
    """What a decision would move. Changes nothing."""
    check(draft, key_sets, by=by)
    return rules.previewed(_moves(draft, key_sets))


def _moves(draft: Reassignment, key_sets: Sequence[int]) -> list[rules.Move]:
    overrides = allocation.active_overrides()
    if draft.pk is None:
        overrides = [allocation.as_override(draft, key_sets), *overrides]
    also = (draft.starts_on, draft.ends_on or LAST_DAY) if draft.restates else None
    return list(
        allocation.moves(
            allocation.active_rules(), "k.id = ANY(%(ids)s)", {"ids": list(key_sets)}, overrides=overrides, also=also
        )
    )


def check(draft: Reassignment, key_sets: Sequence[int], *, by: User) -> None:
    """Every fault of a decision at once."""
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance re-assigns usage."))
    faults = []
    if not key_sets:
        faults.append(Fault("key_sets", None, _("choose what to re-assign")))
    elif len(key_sets) > MOST_KEY_SETS:
        faults.append(Fault("key_sets", len(key_sets), _("are too many; write a rule"), str(MOST_KEY_SETS)))
    elif KeySet.objects.filter(pk__in=key_sets).count() != len(set(key_sets)):
        faults.append(Fault("key_sets", None, _("some do not exist")))
    says = (draft.project_id, draft.is_shared, draft.category, draft.task_type, draft.stage, draft.experiment)
    if not any(says):
        faults.append(Fault("target", None, _("say where it belongs")))
    if draft.starts_on is None:
        faults.append(Fault("starts_on", None, _("is needed")))
    elif draft.ends_on and draft.ends_on <= draft.starts_on:
        faults.append(Fault("ends_on", str(draft.ends_on), _("must be after the first day")))
    if not draft.reason.strip():
        faults.append(Fault("reason", "", _("is needed")))
    if faults:
        raise DomainError(_("The re-assignment cannot be kept."), code="reassignment_refused", faults=faults)


@dataclass(frozen=True)
class Pick:
    """A key set one may re-assign, with what it cost in the month."""

    key_set: KeySet
    project: Project | None
    is_shared: bool
    currency: str
    cost: Decimal
    rows: int


@dataclass(frozen=True)
class Search:
    """Which key sets: of a month, a source, a place, with a word in their keys."""

    month: Month
    source_id: int | None = None
    place: str = ""
    """`unallocated`, `shared`, or the short name of a project; empty: anywhere."""
    word: str = ""


def picks(search: Search, *, most: int = MOST_SHOWN) -> list[Pick]:
    """The dearest key sets of a month, by effective cost."""
    conditions = [f"k.source_id IN {BEARS_MONEY}", "x.currency <> ''", "x.day >= %(start)s", "x.day < %(end)s"]
    conditions.append(allocation.NOT_BY_HAND)
    if search.source_id:
        conditions.append("k.source_id = %(source)s")
    if search.place == "unallocated":
        conditions.append("p.project_id IS NULL AND NOT p.is_shared")
    elif search.place == "shared":
        conditions.append("p.is_shared")
    elif search.place:
        conditions.append("p.project_id = (SELECT id FROM teams_project WHERE slug = %(place)s)")
    if search.word:
        conditions.append(
            "concat_ws(' ', m.account, m.account_name, m.service, m.sku, m.region, k.resource, k.resource_name,"
            ' k."user", k.partition, k.namespace, k.tags::text) ILIKE %(word)s'
        )
    near = (
        "(SELECT * FROM usage_record WHERE usage_start < (%(end)s::date)::timestamp AT TIME ZONE %(zone)s"
        " AND usage_end > (%(start)s::date)::timestamp AT TIME ZONE %(zone)s)"
    )
    sums = days_of_records(
        ["x.key_set_id", "p.project_id", "p.is_shared", "x.currency"],
        records=near,
        joins="JOIN usage_meter m ON m.id = k.meter_id",
        where=" AND ".join(conditions),
    )
    word = search.word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT g0, g1, g2, g3, effective, rows FROM ({sums}) AS found ORDER BY effective DESC, g0 LIMIT %(most)s",
            {
                "start": search.month.start,
                "end": search.month.end,
                "zone": Organisation.current().time_zone,
                "source": search.source_id,
                "place": search.place,
                "word": f"%{word}%",
                "most": most,
            },
        )
        rows = cursor.fetchall()
    key_sets = KeySet.objects.select_related("meter", "source").in_bulk({row[0] for row in rows})
    projects = Project.objects.select_related("team").in_bulk({row[1] for row in rows if row[1]})
    return [Pick(key_sets[row[0]], projects.get(row[1]), *row[2:]) for row in rows]


@transaction.atomic
def name_owner(person: User | None, *, by: User) -> AllocationOwner:
    """Say who answers for cost that no rule places; nobody named: every operator."""
    row, _made = AllocationOwner.objects.select_for_update().get_or_create(singleton=True)
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance names the owner of unallocated cost."))
    if person is not None and not permissions.may_allocate(person):
        raise DomainError(_("Choose somebody who may write allocation rules: an operator or finance."))
    row.person = person
    row.save(update_fields=["person"])
    activity.record("unallocated.owned", by=by, name=str(person or ""))
    return row


def owners() -> list[User]:
    """Who answers for cost that no rule places."""
    named = AllocationOwner.objects.select_related("person").first()
    if named and named.person and named.person.is_active:
        return [named.person]
    return list(permissions.people_with_role("operator"))


@dataclass(frozen=True)
class MonthShare:
    """Cost of a month in one currency that nobody owns, and that no tag names."""

    month: date
    currency: str
    total: Decimal
    unallocated: Decimal
    untagged: Decimal

    @property
    def unallocated_share(self) -> Decimal | None:
        return self.unallocated / self.total if self.total > 0 else None

    @property
    def untagged_share(self) -> Decimal | None:
        return self.untagged / self.total if self.total > 0 else None


def trend(
    until: Month, *, months: int = 12, basis: str = "effective", known_at: datetime | None = None
) -> list[MonthShare]:
    """The shares of the last months, by currency and month; now, or as known at a time."""
    measure = "billed" if basis == "billed" else "effective"
    days = ((until + (1 - months)).start, until.end)
    rollup, known = daily_rows(known_at, days=days)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT date_trunc('month', u.day)::date, u.currency, sum(u.{measure}),
                       coalesce(sum(u.{measure}) FILTER (WHERE u.project_id IS NULL AND NOT u.is_shared), 0),
                       coalesce(sum(u.{measure}) FILTER (WHERE NOT u.is_tagged), 0)
                FROM {rollup} u JOIN usage_meter m ON m.id = u.meter_id
                WHERE u.day >= %(start)s AND u.day < %(end)s AND u.currency <> '' AND m.source_id IN {BEARS_MONEY}
                GROUP BY 1, 2 ORDER BY 2, 1""",
            {**known, "start": days[0], "end": days[1]},
        )
        rows: list[Any] = cursor.fetchall()
    return [MonthShare(*row) for row in rows]
