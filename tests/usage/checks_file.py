"""The published file of right totals, read as it stands: what each usage file must come to, apart from any importer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SECTION = re.compile(r"^### `([^`]+)`", re.MULTILINE)
COUNTS = re.compile(
    r"data rows (\d+), (?:accepted|parsable) (\d+), rejected (\d+)|data rows (\d+) accepted, (\d+) totals"
)
ROWS = re.compile(r"^- data rows (\d+);", re.MULTILINE)
JOBS = re.compile(
    r"become facts: (\d+) ended \+ (\d+) still open .*?step records ignored: (\d+); skipped: (none|\{.*?\}); "
    r".*?total GPU-hours ([\d.]+); CPU-core-hours ([\d.]+)"
)
DAYS = re.compile(r"^- (?:rows|records) per .*?day.*?: (\d{4}-.*)$", re.MULTILINE)
DAY = re.compile(r"(\d{4}-\d{2}-\d{2}):(\d+)")
HOURS = re.compile(
    r"accelerator-hours \(.*?: (\d+)$|physical GPU-hours \(.*?\) (\d+);|GPU-hours \(GPUs.*?\) (\d+)$", re.M
)
CORES = re.compile(r"requested CPU-core-hours (\d+)")
BILLED = re.compile(r"sum TotalCost ([\d.]+)|sum `(?:PretaxAmount|应付金额)` = ([\d.]+)")
LISTED = re.compile(r"sum `(?:PretaxGrossAmount|官网价)` = ([\d.]+)")
CURRENCY_MISSING = re.compile(r"lacks: BillingCurrency -> default settings: reject|\(no currency column\)")
DATES_MISSING = "date format M/D/YY"
MONEY_MISSING = "money symbols allowed"
REFUSED = re.compile(
    r"refuse it with a message|reject the file \(required|: refused, with its total|accepted 0, rejected|parsable 0"
)


@dataclass
class Table:
    """A table below a file's heading: its column names, and its rows of texts."""

    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)


@dataclass
class Check:
    """What the checks say of one usage file."""

    file: str
    text: str
    tables: list[Table] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, str]:
        """What a source must set before the file is legal."""
        found: dict[str, str] = {}
        if CURRENCY_MISSING.search(self.text) or self.file.startswith("k8s/opencost"):
            found["currency"] = "USD"
        if "`currency_map` maps it" in self.text:
            found["currency_map"] = "MC=USD"
        if DATES_MISSING in self.text:
            found["date_order"] = "mdy"
        if MONEY_MISSING in self.text:
            found["money_text"] = "us"
        return found

    @property
    def is_refused(self) -> bool:
        """Refused under every setting."""
        return REFUSED.search(self.text) is not None

    @property
    def rows(self) -> tuple[int, int, int] | None:
        """Read, accepted, rejected or skipped."""
        if match := COUNTS.search(self.text):
            read, accepted, rejected, of_bill, totals = (int(part or 0) for part in match.groups())
            return (read, accepted, rejected) if match[1] else (of_bill + totals, of_bill, totals)
        if match := ROWS.search(self.text):
            return int(match[1]), int(match[1]), 0
        return None

    @property
    def jobs(self) -> tuple[int, int, str, str] | None:
        """Facts; records passed over (steps, jobs that never started); GPU-hours, core-hours."""
        match = JOBS.search(self.text)
        if match is None:
            return None
        ended, still_open, steps, skipped, cards, cores = match.groups()
        passed_over = int(steps) + sum(int(count) for count in re.findall(r": (\d+)", skipped))
        return int(ended) + int(still_open), passed_over, cards, cores

    @property
    def days(self) -> dict[str, int]:
        match = DAYS.search(self.text)
        return {day: int(count) for day, count in DAY.findall(match[1])} if match else {}

    def number(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.search(self.text)
        return next(part for part in match.groups() if part) if match else None

    def table(self, first: str) -> Table | None:
        """The table whose first column begins so."""
        return next((table for table in self.tables if table.columns[0].startswith(first)), None)


def read_checks(path: Path) -> list[Check]:
    """Every file that the checks know, in their order; metric logs and dumps among them."""
    parts = SECTION.split(path.read_text(encoding="utf-8"))[1:]
    return [
        checked(file, re.split(r"^## ", text, flags=re.MULTILINE)[0])
        for file, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def checked(file: str, text: str) -> Check:
    check = Check(file, text)
    before = ""
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not before.startswith("|"):
                check.tables.append(Table(cells))
            elif not set(line) <= set("|- "):
                check.tables[-1].rows.append(cells)
        before = line
    return check
