"""Slurm `sreport`: recognised to be refused. Its sums are not the facts; `sacct` has those."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from ..delivery import Settings
from ..reading.durations import hours_held
from ..reading.faults import FileRefused
from ..reading.header import Header
from ..reading.notes import Notes
from .contract import Format, Recognition, RowReader, Sample

TITLE = re.compile(r"Utilization (\S+) - (\S+) \((\d+) secs\)")
UNIT = re.compile(r"(?:Usage|Use|Time) reported in (.+)", re.IGNORECASE)
COLUMNS = {"cluster", "account", "login", "proper", "name", "used", "energy", "tres"}
MINUTE_FACTORS = {"second": 1, "minute": 60, "hour": 3600}

COUNT = re.compile(r"[0-9]{1,15}")
"""More digits are no time that anybody used."""


def recognise(sample: Sample) -> Recognition | None:
    """Never a recognition: a refusal that says what arrived, what its total is, and what to deliver instead."""
    unit = UNIT.search(sample.text)
    title = TITLE.search(sample.text)
    is_parsable = {"cluster", "account", "login", "used"} <= set(sample.header.plain)
    if not (title and unit) and not is_parsable:
        return None
    words = unit.group(1).strip() if unit else ""
    if "percent" in words.casefold() or "%" in _rows(sample.text):
        message = _("This is an sreport in percent. Percentages are no usage; deliver the jobs: sacct -a -D -P.")
    else:
        message = _(
            "This is an sreport: sums without jobs, cut at its window, that never agree with the job log."
            " Deliver the jobs instead: sacct -a -D -P."
        )
        message += " " + _total(sample.text, words) if unit else ""
    raise FileRefused(message.strip(), column="sreport", value=(title.group(0) if title else sample.text[:80]))


def _rows(text: str) -> str:
    return text.rpartition("---")[2]


def _total(text: str, unit: str) -> str:
    """What the accounts' own rows add up to: rows without a login are totals of those with one."""
    totals = users = 0
    for line in _rows(text).splitlines():
        numbers = [int(word) for word in line.split() if COUNT.fullmatch(word)]
        if len(numbers) < 2:
            continue
        names = line.split()[: -len(numbers)]
        if len(names) <= 2:
            totals += numbers[0]
        else:
            users += numbers[0]
    factor = next((seconds for word, seconds in MINUTE_FACTORS.items() if word in unit.casefold()), None)
    total = users or totals
    if not factor or not total:
        return ""
    return _("Its total is %(total)s %(unit)s (%(hours)s hours).") % {
        "total": total,
        "unit": unit,
        "hours": hours_held(total, factor)[:12],
    }


def open_sreport(header: Header, settings: Settings, notes: Notes) -> RowReader:
    raise FileRefused(_("An sreport cannot be imported; deliver the jobs: sacct -a -D -P."))


FORMAT = Format(slug="sreport", name="Slurm sreport", recognise=recognise, open=open_sreport)
