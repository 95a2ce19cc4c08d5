"""Lines, grants and spend to date from a file, so that an organisation can begin in the middle of a year.

One row is one line: what it is for, its period, the money it has, and what was spent of it so far. Reading says
everything that is wrong, each fault with its line, column, value and what is accepted; nothing is written here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _

from core.errors import Fault
from core.money import exact_text, parse_amount, round_money
from core.months import Month, Period
from core.vocabulary import LINES, Category, TaskType
from teams.models import ClosedMonth, Project

from .models import BudgetLine, Entry
from .periods import calendar_period
from .subcategories import SUBCATEGORIES

COLUMNS = (
    "project",
    "category",
    "subcategory",
    "task_type",
    "period",
    "start",
    "granted",
    "spent",
    "spent_until",
    "document",
)
REQUIRED = ("project", "category", "period", "start", "granted")
MOST_BYTES = 5_000_000
MOST_ROWS = 20_000
LARGEST = Decimal("1e15")
TEMPLATE = """\
project,category,subcategory,task_type,period,start,granted,spent,spent_until,document
%(project)s,compute,training,,year,2027-01-01,900000.00,312450.75,2027-04-30,Board paper 2027-01
%(project)s,storage,,,quarter,2027-04-01,30000.00,8200.00,,
%(project)s,contingency,,,year,2027-01-01,50000.00,,,
"""


@dataclass(frozen=True)
class OpeningRow:
    """One line of the file, understood."""

    number: int
    project: Project
    category: str
    subcategory: str
    task_type: str
    period_kind: str
    period: Period
    granted: Decimal
    spent: Decimal
    spent_until: date | None
    document: str

    @property
    def kind(self) -> tuple[int, str, str, str]:
        return self.project.pk, self.category, self.subcategory, self.task_type


@dataclass(frozen=True)
class WantedRow:
    """A row with the line that it is about, where that is there, and whether its money stands on it already."""

    row: OpeningRow
    line: BudgetLine | None
    is_known: bool


@dataclass(frozen=True)
class OpeningFile:
    """What a file would do, and everything that is wrong with it."""

    rows: Sequence[WantedRow] = ()
    faults: Sequence[Fault] = ()

    @property
    def new(self) -> list[WantedRow]:
        return [wanted for wanted in self.rows if not wanted.is_known]

    def totals(self) -> dict[str, tuple[Decimal, Decimal]]:
        """Granted and spent of the new rows, by currency."""
        sums: dict[str, tuple[Decimal, Decimal]] = {}
        for wanted in self.new:
            granted, spent = sums.get(wanted.row.project.currency, (Decimal(0), Decimal(0)))
            sums[wanted.row.project.currency] = (granted + wanted.row.granted, spent + wanted.row.spent)
        return sums


def read_opening(
    content: bytes, projects: Mapping[str, Project], *, today: date, fiscal_year_starts_in: int
) -> OpeningFile:
    """Read the file against what is there. `projects` are those the person may set up, by short name."""
    table, faults = read_table(content)
    rows = []
    for number, cells in table:
        reader = RowReader(number, cells, projects, today, fiscal_year_starts_in)
        row = reader.read()
        faults += reader.faults
        if row is not None:
            rows.append(row)
    found, clashes = compared(rows)
    return OpeningFile(found, [*faults, *clashes])


def read_table(content: bytes) -> tuple[list[tuple[int, dict[str, str]]], list[Fault]]:
    """The rows by the names of their columns, or what keeps the file from being read."""
    if len(content) > MOST_BYTES:
        return [], [Fault("line 1", len(content), _("the file is too large"), _("at most 5 MB"))]
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("gb18030", errors="replace")
    if "\0" in text or "\ufffd" in text:
        return [], [Fault("line 1", "", _("the file is no text"), _("CSV in UTF-8 or GB18030"))]
    try:
        lines = numbered_lines(text)
    except csv.Error as error:
        return [], [Fault("line 1", str(error), _("the file is no CSV"), ", ".join(COLUMNS))]
    header = [name.strip().lower() for name in lines[0][1]] if lines else []
    faults = [
        Fault("line 1", name, _("is no column of this file"), ", ".join(COLUMNS))
        for name in header
        if name not in COLUMNS
    ]
    faults += [
        Fault("line 1", "", _("%(column)s is missing") % {"column": name}, ", ".join(REQUIRED))
        for name in REQUIRED
        if name not in header
    ]
    if len(set(header)) != len(header):
        faults.append(Fault("line 1", "", _("a column stands twice"), ", ".join(COLUMNS)))
    rows = lines[1:]
    if not faults and not rows:
        faults.append(Fault("line 2", "", _("the file has no rows"), _("a header, and a row for each line")))
    if len(rows) > MOST_ROWS:
        faults.append(Fault("line 1", len(rows), _("the file has too many rows"), str(MOST_ROWS)))
    if faults:
        return [], faults
    return [(number, dict(zip(header, cells, strict=False))) for number, cells in rows], []


def numbered_lines(text: str) -> list[tuple[int, list[str]]]:
    """The rows that say something, each with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, before = [], 0
    for cells in reader:
        if any(cell.strip() for cell in cells):
            rows.append((before + 1, cells))
        before = reader.line_num
    return rows


@dataclass
class RowReader:
    """Reads one row and collects what is wrong with it."""

    number: int
    cells: Mapping[str, str]
    projects: Mapping[str, Project]
    today: date
    fiscal_year_starts_in: int

    def __post_init__(self) -> None:
        self.faults: list[Fault] = []

    def text(self, name: str) -> str:
        return (self.cells.get(name) or "").strip()

    def refuse(self, name: str, message: str, accepted: str = "") -> None:
        self.faults.append(Fault(f"line {self.number}, {name}", self.text(name)[:200], message, accepted))

    def read(self) -> OpeningRow | None:
        project = self.projects.get(self.text("project"))
        if project is None:
            self.refuse("project", _("is no project that you may set up"), ", ".join(sorted(self.projects)[:20]))
            return None
        category = self.word("category", [str(each) for each in LINES], needed=True)
        parts = [each.key for each in SUBCATEGORIES.values() if each.parent == category]
        subcategory = self.word("subcategory", parts)
        task_type = self.word("task_type", [str(each) for each in TaskType])
        period_kind = self.word("period", BudgetLine.PeriodKind.values, needed=True)
        period = self.period(project, period_kind)
        granted, spent = self.amount("granted", project), self.amount("spent", project)
        until = self.spent_until(period, spent)
        if category == Category.CONTINGENCY and spent:
            self.refuse("spent", _("contingency has no cost of its own"), _("empty"))
        if len(self.text("document")) > 120:
            self.refuse("document", _("is too long"), _("at most 120 characters"))
        if self.faults or period is None:
            return None
        return OpeningRow(
            number=self.number,
            project=project,
            category=category,
            subcategory=subcategory,
            task_type=task_type,
            period_kind=period_kind,
            period=period,
            granted=granted,
            spent=spent,
            spent_until=until,
            document=self.text("document"),
        )

    def word(self, name: str, known: Iterable[str], *, needed: bool = False) -> str:
        found, accepted = self.text(name).lower(), list(known)
        if (found and found not in accepted) or (needed and not found):
            self.refuse(name, _("is unknown") if found else _("is missing"), ", ".join(accepted) or _("empty"))
        return found

    def day(self, name: str) -> date | None:
        try:
            return date.fromisoformat(self.text(name))
        except ValueError:
            self.refuse(name, _("is no day"), "2027-01-31")
            return None

    def period(self, project: Project, kind: str) -> Period | None:
        day = self.day("start")
        if day is None or kind not in BudgetLine.PeriodKind.values:
            return None
        if kind != BudgetLine.PeriodKind.PROJECT:
            return calendar_period(kind, Month.of(day), fiscal_year_starts_in=self.fiscal_year_starts_in)
        if not (project.starts_on and project.ends_on):
            self.refuse("period", _("the project has no dates"), "month, quarter, year")
            return None
        return Period(project.starts_on, project.ends_on)

    def amount(self, name: str, project: Project) -> Decimal:
        text = self.text(name)
        if not text:
            if name in REQUIRED:
                self.refuse(name, _("is missing"), "1234.50")
            return Decimal(0)
        try:
            amount = parse_amount(text)
        except ValueError:
            self.refuse(name, _("is no amount in plain digits"), "1234.50")
            return Decimal(0)
        if not 0 < amount < LARGEST:
            self.refuse(name, _("must be above zero"), "0.01 – 1e15")
        elif amount != round_money(amount, project.currency):
            self.refuse(
                name,
                _("is finer than the smallest unit of %(currency)s") % {"currency": project.currency},
                exact_text(round_money(amount, project.currency)),
            )
        return amount

    def spent_until(self, period: Period | None, spent: Decimal) -> date | None:
        """The last day whose cost is in `spent`."""
        if period is None or not spent:
            return None
        last = min(self.today, period.end) - timedelta(days=1)
        if last < period.start:
            self.refuse("spent", _("the period has not begun"), _("empty"))
            return None
        day = self.day("spent_until")
        if day is not None and not period.start <= day <= last:
            self.refuse("spent_until", _("is no day of the period before today"), f"{period.start} – {last}")
        return day


def compared(rows: Sequence[OpeningRow]) -> tuple[list[WantedRow], list[Fault]]:
    """The rows against each other and against the lines there are."""
    lines: dict[tuple[int, str, str, str], list[BudgetLine]] = {}
    for line in BudgetLine.objects.filter(project__in={row.project.pk for row in rows}):
        lines.setdefault((line.project_id, line.category, line.subcategory, line.task_type), []).append(line)
    openings = dict(
        Entry.objects.filter(kind=Entry.Kind.OPENING, line__project__in={row.project.pk for row in rows}).values_list(
            "line", "amount"
        )
    )
    latest = ClosedMonth.objects.order_by("-month").first()
    closed_until = Month.of(latest.month).end if latest else date.min
    found, faults, before = [], [], []  # type: ignore[var-annotated]
    for row in rows:
        fault = clash(row, before, lines.get(row.kind, []), openings, closed_until)
        before.append(row)
        if fault:
            column, value, message, accepted = fault
            faults.append(Fault(f"line {row.number}, {column}", value, message, accepted))
            continue
        there = next((each for each in lines.get(row.kind, []) if each.period == row.period), None)
        found.append(WantedRow(row, there, there is not None and there.pk in openings))
    return found, faults


def clash(
    row: OpeningRow,
    before: Sequence[OpeningRow],
    lines: Sequence[BudgetLine],
    openings: Mapping[int, Decimal],
    closed_until: date,
) -> tuple[str, str, str, str] | None:
    """What keeps the row from standing beside the others and what is there: column, value, message, accepted."""
    same = [each for each in before if each.kind == row.kind and each.period.overlaps(row.period)]
    if same:
        return ("start", str(row.period.start), _("overlaps line %(line)s of the file") % {"line": same[0].number}, "")
    for line in lines:
        if line.period == row.period and line.pk in openings and openings[line.pk] != row.granted:
            known = exact_text(openings[line.pk])
            return ("granted", exact_text(row.granted), _("was opened with another amount before"), known)
        if line.period == row.period and line.closed_at and line.pk not in openings:
            return ("start", str(row.period.start), _("the line is closed"), "")
        if line.period != row.period and line.period.overlaps(row.period):
            return ("start", str(row.period.start), _("overlaps a line of the same kind"), f"{line.start}, {line.end}")
    if row.period.end <= closed_until and not any(line.period == row.period for line in lines):
        return ("start", str(row.period.start), _("lies in a closed month"), str(closed_until))
    return None
