"""Changes to allocation rules: written, ordered, retired, tried out, applied to what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, permissions
from teams.models import Organisation, Project, User

from . import allocation
from .daily import days_of_records
from .models import AllocationRule, AllocationShare, Source
from .models.allocation import Split
from .pipeline.placement import FIELDS, OPERATORS, Place
from .pipeline.rollup import rebuild_touched, touch_records
from .pipeline.swap import known_now

Move = tuple[int, list[Place], list[Place]]
"""A key set, its places now, its places then."""
STEP = 10
"""Positions leave room between two rules."""


@transaction.atomic
def save_rule(rule: AllocationRule, *, by: User, shares: Sequence[tuple[Project, Decimal]] = ()) -> AllocationRule:
    """Write a new or changed rule. What is stored moves when the rules are applied."""
    lock_rules()
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance writes allocation rules."))
    if shares and not rule.split:
        rule.split = Split.WEIGHT
    check_rule(rule, shares)
    new = rule.pk is None
    if not rule.position:
        rule.position = (AllocationRule.objects.aggregate(last=Max("position"))["last"] or 0) + STEP
    rule.save()
    rule.shares.all().delete()
    AllocationShare.objects.bulk_create(
        AllocationShare(rule=rule, project=project, weight=weight) for project, weight in shares
    )
    activity.record(
        "rule.written" if new else "rule.changed",
        by=by,
        project=rule.project,
        subject=rule,
        name=rule.name,
        conditions=rule.conditions,
        reason=rule.reason,
    )
    return rule


def add_rule(*, by: User, shares: Sequence[tuple[Project, Decimal]] = (), **values: Any) -> AllocationRule:
    """A new rule from the values of its columns; without a position it comes last."""
    return save_rule(AllocationRule(**{"position": 0, **values}), by=by, shares=shares)


def check_rule(rule: AllocationRule, shares: Sequence[tuple[Project, Decimal]] = ()) -> None:
    """Every fault of a rule at once."""
    faults = [fault for number, stored in enumerate(rule.conditions) for fault in condition_faults(number, stored)]
    if not rule.name.strip():
        faults.append(Fault("name", rule.name, _("is needed")))
    places = [bool(rule.project_id), rule.is_shared, bool(shares) or bool(rule.split)]
    if sum(places) > 1:
        faults.append(Fault("project", None, _("choose one: a project, shared cost, or a split")))
    says_more = (rule.category, rule.task_type, rule.stage, rule.experiment, rule.reference)
    if not any(places) and not any(says_more):
        faults.append(Fault("project", None, _("the rule must put what it matches somewhere")))
    if rule.starts_on and rule.ends_on and rule.ends_on <= rule.starts_on:
        faults.append(Fault("ends_on", str(rule.ends_on), _("must be after the first day")))
    if rule.split == Split.PARTS and not (rule.source and rule.source.parts.exists()):
        faults.append(Fault("source", None, _("choose the bill that job logs are part of")))
    if rule.split == Split.PARTS and shares:
        faults.append(Fault("shares", None, _("the job logs say who shares: leave the projects empty")))
    if rule.split == Split.WEIGHT and not shares:
        faults.append(Fault("shares", None, _("give each project of the split a weight")))
    if len({project.pk for project, _weight in shares}) < len(shares):
        faults.append(Fault("shares", None, _("name each project once")))
    if any(weight <= 0 for _project, weight in shares):
        faults.append(Fault("shares", None, _("weights must be more than zero")))
    if faults:
        raise DomainError(_("The rule cannot be kept."), code="rule_refused", faults=faults)


def condition_faults(number: int, stored: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with one condition."""
    path, faults = f"conditions.{number}", []
    if stored.get("field") not in FIELDS:
        faults.append(Fault(f"{path}.field", stored.get("field"), _("cannot be looked at"), ", ".join(FIELDS)))
    if stored.get("operator") not in OPERATORS:
        faults.append(Fault(f"{path}.operator", stored.get("operator"), _("is unknown"), ", ".join(OPERATORS)))
    if stored.get("field") == "tag" and not stored.get("tag"):
        faults.append(Fault(f"{path}.tag", "", _("name the tag")))
    if stored.get("operator") in ("equals", "prefix", "glob", "list") and not any(stored.get("values") or ()):
        faults.append(Fault(f"{path}.values", "", _("needs a value")))
    return faults


@transaction.atomic
def retire_rule(rule: AllocationRule, *, by: User) -> None:
    """Take a rule out of force. What it placed stays until the rules are applied."""
    lock_rules()
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance retires allocation rules."))
    rule.active = False
    rule.save(update_fields=["active", "changed_at"])
    activity.record("rule.retired", by=by, project=rule.project, subject=rule, name=rule.name)


@transaction.atomic
def move_rule(rule: AllocationRule, *, by: User, earlier: bool) -> None:
    """Exchange a rule's place with its neighbour's: the first that matches wins."""
    lock_rules()
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance orders allocation rules."))
    ordered = list(AllocationRule.objects.filter(active=True).order_by("position", "id"))
    at = ordered.index(rule)
    other = at - 1 if earlier else at + 1
    if not 0 <= other < len(ordered):
        return
    ordered[at], ordered[other] = ordered[other], ordered[at]
    for number, each in enumerate(ordered, start=1):
        each.position = number * STEP
    AllocationRule.objects.bulk_update(ordered, ["position"])
    activity.record("rule.moved", by=by, project=rule.project, subject=rule, name=rule.name)


@dataclass(frozen=True)
class Shift:
    """What one place would win or lose, in effective cost of one currency."""

    project: Project | None
    is_shared: bool
    currency: str
    amount: Decimal


@dataclass(frozen=True)
class Preview:
    """What applying the rules would move."""

    key_sets: int
    shifts: list[Shift]


def preview(draft: AllocationRule | None = None, shares: Sequence[tuple[Project, Decimal]] = ()) -> Preview:
    """What would move on open days if the rules (with a draft among them) were applied now. Changes nothing."""
    rules = allocation.active_rules()
    if draft is not None:
        as_drafted = allocation.as_rule(draft, shares=[(project.pk, weight) for project, weight in shares])
        positions = dict(AllocationRule.objects.values_list("id", "position"))
        last = max(positions.values(), default=0) + STEP
        rules = [rule for rule in rules if rule.id != draft.pk] + [as_drafted]
        rules.sort(key=lambda rule: (positions.get(rule.id, draft.position or last), rule.id or last))
    return previewed(list(allocation.moves(rules)))


def previewed(changes: Sequence[Move]) -> Preview:
    """What some moves would do."""
    return Preview(len(changes), _shifts(changes))


def _shifts(changes: Sequence[Move]) -> list[Shift]:
    """Money by place, taken from where it is now and given where it would be."""
    if not changes:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """CREATE TEMP TABLE usage_draft_places (key_set_id bigint, starts_on date, ends_on date,
               project_id bigint, is_shared boolean, share numeric, is_first boolean) ON COMMIT DROP"""
        )
        with cursor.copy("COPY usage_draft_places FROM STDIN") as copy:
            for key_set, before, after in changes:
                for places, sign in ((before, -1), (after, 1)):
                    for place in places:
                        copy.write_row(
                            (key_set, place.starts_on, place.ends_on, place.project_id, place.is_shared,
                             sign * place.share, place.is_first)
                        )  # fmt: skip
        cursor.execute(
            days_of_records(
                ["p.project_id", "p.is_shared", "x.currency"],
                records="(SELECT * FROM usage_record WHERE key_set_id IN (SELECT key_set_id FROM usage_draft_places))",
                placements="usage_draft_places",
                placed="TRUE",
            ),
            {"zone": Organisation.current().time_zone},
        )
        rows = cursor.fetchall()
        cursor.execute("DROP TABLE usage_draft_places")
    projects = Project.objects.in_bulk({row[0] for row in rows if row[0]})
    found = [Shift(projects.get(row[0]), row[1], row[2], row[5]) for row in rows if row[2] and row[5]]
    return sorted(found, key=lambda shift: (shift.currency, -shift.amount))


@transaction.atomic
def apply_rules(*, by: User) -> int:
    """Place what is stored by the rules as they are now, on open days; answer how many key sets moved.

    What was known stays known: a question as of an earlier time still finds the old places.
    """
    lock_rules()
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance applies allocation rules."))
    moved = carry_out(list(allocation.moves(allocation.active_rules())))
    if moved and weighs_what_rules_placed():
        moved |= carry_out(list(allocation.moves(allocation.active_rules())))
    activity.record("rules.applied", by=by, key_sets=len(moved))
    return len(moved)


def weighs_what_rules_placed() -> bool:
    """Whether hours that rules placed weigh in other places: a split by usage, or job logs that split a bill."""
    by_usage = AllocationRule.objects.filter(active=True, split=Split.USAGE).exists()
    return by_usage or Source.objects.filter(part_of__isnull=False).exists()


@transaction.atomic
def split_again(sources: Iterable[int] | None = None) -> int:
    """Split bills anew by the hours that their job logs have now; answer how many key sets moved.

    Without `sources` all that others split. It follows the rules, and so asks for nobody's leave.
    """
    wholes = Source.objects.filter(parts__isnull=False).order_by("pk").distinct()
    if sources is not None:
        wholes = wholes.filter(pk__in=list(sources))
    ids = list(wholes.values_list("pk", flat=True))
    if not ids:
        return 0
    lock_rules()
    where, parameters = "k.source_id = ANY(%(split)s)", {"split": ids}
    return len(carry_out(list(allocation.moves(allocation.active_rules(), where, parameters))))


def carry_out(changes: Sequence[Move]) -> set[int]:
    """Write the new places and roll up what they touch; answer the key sets.

    A split by usage weighs what the other rules placed: where they moved it, a second round finds the final weights.
    """
    ids = [key_set for key_set, _before, _after in changes]
    if changes:
        allocation.replace_places(changes, now=known_now())
        touch_records(
            """SELECT key_set_id, usage_start, usage_end FROM usage_record
               WHERE key_set_id = ANY(%(ids)s) AND known_until_id IS NULL""",
            {"ids": ids},
        )
        rebuild_touched()
    return set(ids)


def lock_rules() -> None:
    """Rules change and are applied one at a time, and while no import places by them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [allocation.LOCK_OF_RULES])


def rules_in_order() -> Iterable[AllocationRule]:
    return (
        AllocationRule.objects.filter(active=True)
        .select_related("project", "source")
        .prefetch_related("shares__project")
    )
