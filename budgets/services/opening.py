"""Writing the lines, grants and spend to date of an opening file, all or none, and once."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text
from core.vocabulary import Category, TaskType
from teams import activity, permissions
from teams.models import Organisation, Project, User
from usage.bookings import services as bookings
from usage.bookings.posting import manual_source
from usage.pipeline.swap import lock_source

from ..locks import lock_project
from ..models import BudgetLine, Entry
from ..opening import OpeningFile, OpeningRow, WantedRow, read_opening
from ..subcategories import SUBCATEGORIES
from .lines import add_line, touch

MOST_TOLD = 100
BOOKING_COLUMNS = (
    "project",
    "category",
    "first_day",
    "last_day",
    "amount",
    "currency",
    "document",
    "key",
    "task_type",
    "stage",
    "note",
)


def projects_to_open(by: User) -> dict[str, Project]:
    """The projects whose lines the person may set up, by short name."""
    projects = permissions.projects_to_book_on(by).select_related("team").filter(state=Project.State.ACTIVE)
    return {project.slug: project for project in projects.order_by("slug")}


def preview_opening(content: bytes, *, by: User, now: datetime) -> OpeningFile:
    """What the file would do. Changes nothing."""
    organisation = Organisation.current()
    file = read_opening(
        content,
        projects_to_open(by),
        today=organisation.today(now),
        fiscal_year_starts_in=organisation.fiscal_year_starts_in,
    )
    return OpeningFile(file.rows, [*file.faults, *spent_faults([wanted.row for wanted in file.rows], by=by, now=now)])


def spent_faults(rows: Sequence[OpeningRow], *, by: User, now: datetime) -> list[Fault]:
    """What keeps the spend to date from being booked: booked before, with another amount or other days."""
    spent = [row for row in rows if row.spent]
    if not spent:
        return []
    found = bookings.preview_file(bookings_of(spent), by=by, now=now)
    return [
        Fault(f"line {spent[fault.line - 2].number}, spent", fault.value, fault.reason, fault.accepted)
        for fault in found.faults
    ]


@transaction.atomic
def import_opening(content: bytes, *, by: User, name: str, now: datetime | None = None) -> list[BudgetLine]:
    """Open the lines, put their money on them and book what was spent; answers the lines that are new or got money.

    The same file again writes nothing.
    """
    moment = now or timezone.now()
    known = projects_to_open(by)
    if not known:
        raise NotAllowed(_("Lines are opened from a file by managers of a team and finance."))
    lock_source(manual_source().pk)
    for project in sorted(known.values(), key=lambda project: project.pk):
        lock_project(project.pk)
    file = preview_opening(content, by=by, now=moment)
    check_faults(file)
    lines = [write_row(wanted, by=by, name=name, now=moment) for wanted in file.new]
    spent = [wanted.row for wanted in file.rows if wanted.row.spent]
    if spent:
        bookings.book_file(bookings_of(spent), by=by, name=name, now=moment)
    touch(lines)
    for project in {line.project for line in lines}:
        own = [wanted.row for wanted in file.new if wanted.row.project == project]
        activity.record(
            "lines.imported",
            by=by,
            project=project,
            lines=len(own),
            amount=sum((row.granted for row in own), Decimal(0)),
            spent=sum((row.spent for row in own), Decimal(0)),
            currency=project.currency,
            name=name,
        )
    return lines


def check_faults(file: OpeningFile) -> None:
    """All or none: one fault refuses the file."""
    if file.faults:
        raise DomainError(
            _("The file holds faults: nothing was written."), code="file_refused", faults=list(file.faults[:MOST_TOLD])
        )


def write_row(wanted: WantedRow, *, by: User, name: str, now: datetime) -> BudgetLine:
    """The line, made where it is missing, and its opening money."""
    row = wanted.row
    line = wanted.line or add_line(
        row.project, row.category, row.period_kind, row.period, row.task_type, subcategory=row.subcategory
    )
    if row.granted:
        reason = row.document or _("Opening, line %(line)s of %(name)s") % {"line": row.number, "name": name}
        Entry.objects.create(line=line, kind=Entry.Kind.OPENING, amount=row.granted, by=by, at=now, reason=reason)
    return line


def bookings_of(rows: Sequence[OpeningRow]) -> bytes:
    """What was spent becomes known like every cost that no meter sees: as a file of bookings, each booked once."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(BOOKING_COLUMNS)
    writer.writerows([booking_cells(row) for row in rows])
    return text.getvalue().encode()


def booking_cells(row: OpeningRow) -> list[str]:
    """The booking that falls on the row's line: its category, and the task or stage of its subcategory. Without a task
    it is of no task in particular, else it would fall on the line of the project's main one."""
    category, task_type, stage = row.category, row.task_type or str(TaskType.OTHER), ""
    if row.subcategory:
        part = SUBCATEGORIES[row.subcategory]
        category = str(Category.HIDDEN) if part.is_hidden else category
        stage = part.stages[0] if part.stages else ""
        if part.tasks and task_type not in part.tasks:
            task_type = str(row.project.task_type if row.project.task_type in part.tasks else part.tasks[0])
    return [
        row.project.slug,
        category,
        row.period.start.isoformat(),
        str(row.spent_until),
        exact_text(row.spent),
        row.project.currency,
        "opening",
        ":".join(filter(None, [row.category, row.subcategory, row.task_type, row.period.start.isoformat()])),
        task_type,
        stage,
        row.document or _("Spent before Headroom"),
    ]
