"""Opening lines, their thresholds, and freezing them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text
from core.months import Month, Period
from core.vocabulary import Basis, Category
from teams import activity, permissions
from teams.models import ClosedMonth, Project, User

from ..hours import may_have_hours
from ..locks import lock_lines, lock_project
from ..models import BudgetLine, Threshold, TouchedLine
from ..models.lines import every_charge_category
from ..subcategories import SUBCATEGORIES
from ..templates import DEFAULT_THRESHOLDS, TEMPLATES, Watch


@transaction.atomic
def open_line(
    *,
    by: User,
    project: Project,
    category: str,
    period_kind: str,
    period: Period,
    task_type: str = "",
    basis: str = Basis.EFFECTIVE,
    charge_categories: Iterable[str] | None = None,
    subcategory: str = "",
) -> BudgetLine:
    """Open a line of a project. Its money comes by grants and transfers."""
    locked = lock_project(project.pk)
    if not permissions.may_fund(by, locked.team):
        raise NotAllowed(
            _("Lines of %(team)s are opened by its managers, directors and finance.") % {"team": locked.team}
        )
    line = add_line(locked, category, period_kind, period, task_type, basis, charge_categories, subcategory=subcategory)
    activity.record("line.opened", by=by, project=locked, subject=line, **facts_of(line))
    return line


def add_line(
    project: Project,
    category: str,
    period_kind: str,
    period: Period,
    task_type: str = "",
    basis: str = Basis.EFFECTIVE,
    charge_categories: Iterable[str] | None = None,
    *,
    subcategory: str = "",
    thresholds: Iterable[Watch] = DEFAULT_THRESHOLDS,
) -> BudgetLine:
    """The row of a line with its thresholds. The project is locked."""
    check_not_closed(period)
    check_subcategory(category, subcategory)
    same = BudgetLine.objects.filter(
        project=project,
        category=category,
        subcategory=subcategory,
        task_type=task_type,
        start__lt=period.end,
        end__gt=period.start,
    ).first()
    if same is not None:
        raise DomainError(
            _("%(line)s already runs from %(start)s to %(end)s; two lines of one kind must not overlap.")
            % {"line": same, "start": same.start, "end": same.end},
            faults=[Fault("start", str(period.start), _("overlaps a line of the same category"), str(same.end))],
        )
    line = BudgetLine.objects.create(
        project=project,
        category=category,
        subcategory=subcategory,
        task_type=task_type,
        period_kind=period_kind,
        start=period.start,
        end=period.end,
        currency=project.currency,
        basis=basis,
        charge_categories=list(charge_categories or every_charge_category()),
    )
    if category != Category.CONTINGENCY:
        Threshold.objects.bulk_create(
            Threshold(line=line, basis=of_what, share=share, quantile=quantile)
            for of_what, share, quantile in thresholds
        )
    touch([line])
    return line


@transaction.atomic
def open_lines(
    *, by: User, project: Project, templates: Iterable[str], period_kind: str, period: Period
) -> list[BudgetLine]:
    """Open the lines of a set; one that runs already in the period stays as it is. Answers those that are new."""
    locked = lock_project(project.pk)
    if not permissions.may_fund(by, locked.team):
        raise NotAllowed(
            _("Lines of %(team)s are opened by its managers, directors and finance.") % {"team": locked.team}
        )
    wanted = list(templates)
    unknown = [key for key in wanted if key not in TEMPLATES]
    if unknown or not wanted:
        raise DomainError(
            _("Choose at least one line of the set."),
            faults=[Fault("templates", unknown, _("is not in the set"), ", ".join(TEMPLATES))],
        )
    running = BudgetLine.objects.filter(project=locked, task_type="", start__lt=period.end, end__gt=period.start)
    there = set(running.values_list("category", "subcategory"))
    opened = []
    for template in (TEMPLATES[key] for key in dict.fromkeys(wanted)):
        if (template.category, template.subcategory) in there:
            continue
        line = add_line(
            locked,
            template.category,
            period_kind,
            period,
            subcategory=template.subcategory,
            thresholds=template.thresholds,
        )
        activity.record("line.opened", by=by, project=locked, subject=line, **facts_of(line))
        opened.append(line)
    return opened


def check_subcategory(category: str, subcategory: str) -> None:
    if subcategory and (subcategory not in SUBCATEGORIES or SUBCATEGORIES[subcategory].parent != category):
        accepted = ", ".join(each.key for each in SUBCATEGORIES.values() if each.parent == category)
        raise DomainError(
            _("This subcategory is not part of the category."),
            faults=[Fault("subcategory", subcategory, _("is not part of the category"), accepted)],
        )


def check_not_closed(period: Period) -> None:
    """A line in months whose books are closed could carry nothing."""
    latest = ClosedMonth.objects.order_by("-month").first()
    if latest is not None and period.end <= Month.of(latest.month).end:
        raise DomainError(
            _("The books of %(month)s are closed; open a line of a later period.") % {"month": Month.of(latest.month)},
            code="month_closed",
            faults=[Fault("start", str(period.start), _("lies in a closed month"), str(Month.of(latest.month).end))],
        )


def check_open(*lines: BudgetLine) -> None:
    for line in lines:
        if line.closed_at:
            raise DomainError(
                _("%(line)s of %(start)s to %(end)s is closed; use a line of an open period.")
                % {"line": line, "start": line.start, "end": line.end},
                code="line_closed",
            )


def touch(lines: Iterable[BudgetLine]) -> None:
    """Leave word that the lines have to be judged again."""
    TouchedLine.objects.bulk_create(TouchedLine(line=line) for line in lines)


def facts_of(line: BudgetLine) -> dict[str, Any]:
    return {
        "line": line.pk,
        "category": line.category,
        "subcategory": line.subcategory,
        "task_type": line.task_type,
        "start": line.start,
        "end": line.end,
        "currency": line.currency,
    }


@transaction.atomic
def add_threshold(
    line: BudgetLine,
    *,
    by: User,
    basis: str,
    share: Decimal | None = None,
    amount: Decimal | None = None,
    quantile: str = "",
) -> Threshold:
    """Watch the line at one more share or amount; one that was given up is watched again."""
    locked = lock_lines([line.pk])[line.pk]
    check_may_watch(locked, by)
    if (share is None) == (amount is None) or (share or amount or 0) <= 0:
        raise DomainError(
            _("A threshold is a share of the line or an amount, above zero."),
            faults=[Fault("amount", amount and exact_text(amount), _("is no threshold"), _("one of them, above zero"))],
        )
    of_forecast = quantile or Threshold.Quantile.P50
    quantile = of_forecast if basis == Threshold.Basis.FORECAST else ""
    threshold, _new = Threshold.objects.update_or_create(
        line=locked, basis=basis, share=share, amount=amount, quantile=quantile, defaults={"active": True}
    )
    touch([locked])
    activity.record(
        "threshold.added", by=by, project=locked.project, subject=locked, basis=basis, share=share, amount=amount
    )
    return threshold


@transaction.atomic
def stop_threshold(threshold: Threshold, *, by: User) -> None:
    """Watch no more for this threshold; what was flagged stays on record. The limit itself is always watched."""
    line = lock_lines([threshold.line_id])[threshold.line_id]
    check_may_watch(line, by)
    if threshold.is_limit:
        raise DomainError(_("The limit of a line is always watched."))
    Threshold.objects.filter(pk=threshold.pk).update(active=False)
    touch([line])
    activity.record("threshold.stopped", by=by, project=line.project, subject=line, threshold=str(threshold))


def check_may_watch(line: BudgetLine, by: User) -> None:
    if not permissions.may_fund(by, line.project.team):
        raise NotAllowed(
            _("Thresholds of %(team)s are set by its managers, directors and finance.") % {"team": line.project.team}
        )
    check_open(line)


@transaction.atomic
def set_rollover(
    line: BudgetLine,
    *,
    by: User,
    rollover: str,
    share: Decimal | None = None,
    amount: Decimal | None = None,
    hours: Decimal | None = None,
    carries_overspend: bool = False,
) -> BudgetLine:
    """Say what the line does at the end of its period with what is left, or overspent, of money and of hours.

    A cap is a share of both, an amount of money, a number of hours; what has no cap of its own is not carried then.
    """
    locked = lock_lines([line.pk])[line.pk]
    if not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(
            _("Lines of %(team)s are set up by its managers, directors and finance.") % {"team": locked.project.team}
        )
    if locked.closed_at:
        raise DomainError(_("The line is closed; what it carried over is written."), code="line_closed")
    caps = [cap for cap in (share, amount, hours) if cap is not None]
    is_capped = rollover == BudgetLine.Rollover.CAPPED
    if rollover not in BudgetLine.Rollover.values or is_capped != bool(caps):
        raise DomainError(
            _("Give a share, an amount or hours as the cap, and only where what is carried over is capped."),
            faults=[
                Fault(
                    "rollover",
                    rollover,
                    _("needs a cap where it is capped, and only there"),
                    _("a share, an amount or hours"),
                )
            ],
        )
    if any(cap <= 0 for cap in caps):
        raise DomainError(_("A cap is above zero."), faults=[Fault("cap", str(min(caps)), _("must be above zero"))])
    if hours is not None and not may_have_hours(locked):
        raise DomainError(_("Only compute lines have accelerator-hours."), code="wrong_category")
    locked.rollover, locked.rollover_share, locked.rollover_amount = rollover, share, amount
    locked.rollover_hours, locked.carries_overspend = hours, carries_overspend
    locked.save(update_fields=["rollover", "rollover_share", "rollover_amount", "rollover_hours", "carries_overspend"])
    activity.record(
        "line.rollover_set",
        by=by,
        project=locked.project,
        subject=locked,
        rollover=rollover,
        share=share,
        amount=amount,
        hours=None if hours is None else exact_text(hours),
        carries_overspend=carries_overspend,
        **facts_of(locked),
    )
    return locked


@transaction.atomic
def freeze_line(line: BudgetLine, *, by: User | None, reason: str, now: datetime | None = None) -> None:
    """Nothing more is committed on the line until it is opened again. `by=None`: its limit was reached."""
    locked = lock_lines([line.pk])[line.pk]
    if by is not None and not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("Lines are frozen by managers, directors and finance."))
    if locked.frozen_at:
        return
    locked.frozen_at = now or timezone.now()
    locked.save(update_fields=["frozen_at"])
    activity.record("line.frozen", by=by, project=locked.project, subject=locked, reason=reason, **facts_of(locked))


@transaction.atomic
def unfreeze_line(line: BudgetLine, *, by: User, reason: str) -> None:
    """Money may be committed on the line again."""
    locked = lock_lines([line.pk])[line.pk]
    if not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("Lines are opened again by managers, directors and finance."))
    if not reason.strip():
        raise DomainError(_("Say why the line may be used again."))
    if not locked.frozen_at:
        return
    locked.frozen_at = None
    locked.save(update_fields=["frozen_at"])
    activity.record("line.unfrozen", by=by, project=locked.project, subject=locked, reason=reason, **facts_of(locked))
