"""Sums of usage by any dimension, from the live records or from those known at a time; in days of any time zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from core.money import EXACT
from core.vocabulary import Basis
from teams.models import Project

from .daily import LIVE_AT, LIVE_NOW, MEASURES, PLACED_AT, PLACED_NOW, days_of_records
from .formats import service
from .models import Source

DIMENSIONS = {
    "source": "s.slug",
    "team": "t.slug",
    "project": "pr.slug",
    "category": "p.category",
    "task_type": "nullif(p.task_type, '')",
    "stage": "nullif(p.stage, '')",
    "experiment": "nullif(p.experiment, '')",
    "reference": "nullif(p.reference, '')",
    "resource_type": "nullif(k.resource_type, '')",
    "failure_cause": "nullif(k.extra->>'failure_cause', '')",
    "run": "nullif(x.job, '')",
    "provider": "nullif(m.provider, '')",
    "account": "nullif(m.account, '')",
    "service": "nullif(m.service, '')",
    "sku": "nullif(m.sku, '')",
    "region": "nullif(m.region, '')",
    "resource": "coalesce(nullif(k.resource, ''), nullif(x.job, ''))",
    "accelerator": "nullif(m.accelerator, '')",
    "state": "nullif(m.state, '')",
    "user": "nullif(k.\"user\", '')",
    "partition": "nullif(k.partition, '')",
    "cluster": "nullif(k.cluster, '')",
    "namespace": "nullif(k.namespace, '')",
    "pod": "nullif(k.pod, '')",
    "day": "x.day",
    "month": "to_char(x.day, 'YYYY-MM')",
    "billing_month": "to_char(x.billing_month, 'YYYY-MM')",
    "currency": "nullif(x.currency, '')",
    "charge_category": "m.charge_category",
}
"""What sums can be told apart by: expressions over days of records (see `daily.days_of_records`)."""
JOINS = """
    JOIN usage_meter m ON m.id = k.meter_id JOIN usage_source s ON s.id = k.source_id
    LEFT JOIN teams_project pr ON pr.id = p.project_id LEFT JOIN teams_team t ON t.id = pr.team_id
"""
MONEY_ONCE = "CASE WHEN s.part_of_id IS NULL THEN x.currency ELSE '' END"
"""A part of another source only splits that one's money: it counts where the part itself is asked for, else not."""
COLUMNS_OF_ROWS = (
    "key_set_id",
    "known_from_id",
    "known_until_id",
    "usage_start",
    "usage_end",
    "billing_month",
    "currency",
    "job",
)
"""What days of records read of a row beside its measures."""
OF_THE_JOB = {"run", "resource"}
"""Dimensions that need the job of each record."""


@dataclass(frozen=True)
class Question:
    """What is summed: which source, project, days (half-open, in `zone`), by what, as known when."""

    source: str = ""
    project: str = ""
    start: date | None = None
    end: date | None = None
    zone: str = "UTC"
    by: Sequence[str] = ()
    basis: str = Basis.BILLED
    known_at: datetime | None = None


@dataclass
class Group:
    """One sum: its key, its money by currency, its quantities by unit."""

    key: dict[str, Any]
    totals: dict[str, Decimal] = field(default_factory=dict)
    rows: int = 0
    accelerator_hours: Decimal = Decimal(0)
    quantities: dict[str, Decimal] = field(default_factory=dict)

    def add(self, currency: str, unit: str, row: dict[str, Any], basis: str) -> None:
        cost = row["billed"] if basis == Basis.BILLED else row["effective"]
        if currency:
            self.totals[currency] = EXACT.add(self.totals.get(currency, Decimal(0)), cost)
        self.rows += row["rows"]
        self.accelerator_hours = EXACT.add(self.accelerator_hours, row["accelerator_hours"])
        if unit and row["quantity"]:
            self.quantities[unit] = EXACT.add(self.quantities.get(unit, Decimal(0)), row["quantity"])


def usage_totals(question: Question) -> tuple[Group, list[Group]]:
    """The whole, and its groups in the order of their keys."""
    check(question)
    whole = Group({})
    groups: dict[tuple[Any, ...], Group] = {}
    for row in [*_rows(question), *_counts_beside(question)]:
        key = {name: row[f"by_{name}"] for name in question.by}
        group = groups.setdefault(tuple(key.values()), Group(key))
        for sums in (whole, group):
            sums.add(row["currency_"], row["unit_"], row, question.basis)
    ordered = sorted(groups.items(), key=lambda item: tuple((part is None, str(part)) for part in item[0]))
    return whole, [group for _key, group in ordered] if question.by else []


def check(question: Question) -> None:
    """Refuse unknown dimensions, sources and projects."""
    faults = [
        Fault("by", name, _("is no dimension"), ", ".join(DIMENSIONS)) for name in question.by if name not in DIMENSIONS
    ]
    if question.source and not Source.objects.filter(slug=question.source).exists():
        faults.append(Fault("source", question.source, _("is no source")))
    if question.project and not Project.objects.filter(slug=question.project).exists():
        faults.append(Fault("project", question.project, _("is no project")))
    if question.start and question.end and question.end <= question.start:
        faults.append(Fault("to", str(question.end), _("must be after the first day")))
    if faults:
        raise DomainError(_("The question cannot be answered."), faults=faults)


def _counts_beside(question: Question) -> list[dict[str, Any]]:
    """Tokens, timeouts and cache hits, which rows of services carry beside their requests."""
    services = Source.objects.filter(format=service.FORMAT.slug)
    if question.source:
        services = services.filter(slug=question.source)
    if not services.exists():
        return []
    found = []
    for name in service.COUNTS_BESIDE:
        for row in _rows(question, records=_records_of_counts(name, _records(question)), unit=f"'{name}'"):
            found.append({**row, "rows": 0})
    return found


def _records_of_counts(name: str, records: str) -> str:
    """The records of services with one of their counts as the quantity, and nothing else."""
    others = ", ".join(f"NULL::numeric AS {measure}" for measure in MEASURES if measure != "quantity")
    return (
        f"(SELECT {', '.join(COLUMNS_OF_ROWS)}, {others}, (extra->>'{name}')::numeric AS quantity"
        f" FROM {records} AS all_ WHERE extra ? '{name}' AND scope_id IN (SELECT c.id FROM usage_scope c"
        f" JOIN usage_source s ON s.id = c.source_id WHERE s.format = '{service.FORMAT.slug}'))"
    )


def _rows(question: Question, *, records: str = "", unit: str = "m.unit") -> list[dict[str, Any]]:
    names = [f"by_{name}" for name in question.by] + ["currency_", "unit_"]
    currency = "x.currency" if question.source else MONEY_ONCE
    expressions = [DIMENSIONS[name] for name in question.by] + [currency, unit]
    at_a_time = question.known_at is not None
    sql = days_of_records(
        expressions,
        records=records or _records(question),
        live=LIVE_AT if at_a_time else LIVE_NOW,
        placed=PLACED_AT if at_a_time else PLACED_NOW,
        joins=JOINS,
        row_keys=["job"] if OF_THE_JOB & set(question.by) else [],
        where=" AND ".join(_conditions(question)) or "TRUE",
    )
    parameters = {
        "zone": question.zone,
        "known_at": question.known_at,
        "source": question.source,
        "project": question.project,
        "start": question.start,
        "end": question.end,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        columns = [*names, "rows", *MEASURES]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _records(question: Question) -> str:
    """The records that can matter: of the source, and near the days."""
    conditions = []
    if question.source:
        conditions.append(
            "scope_id IN (SELECT c.id FROM usage_scope c JOIN usage_source s ON s.id = c.source_id"
            " WHERE s.slug = %(source)s)"
        )
    if question.end:
        conditions.append("usage_start < (%(end)s::date)::timestamp AT TIME ZONE %(zone)s")
    if question.start:
        conditions.append("usage_end > (%(start)s::date)::timestamp AT TIME ZONE %(zone)s")
    return f"(SELECT * FROM usage_record WHERE {' AND '.join(conditions)})" if conditions else "usage_record"


def _conditions(question: Question) -> list[str]:
    conditions = []
    if question.project:
        conditions.append("pr.slug = %(project)s")
    if question.start:
        conditions.append("x.day >= %(start)s")
    if question.end:
        conditions.append("x.day < %(end)s")
    return conditions


def default_zone(source: str) -> str:
    """The days of a source: its own clock, else UTC."""
    found = Source.objects.filter(slug=source).values_list("settings__timezone", flat=True).first() if source else None
    return found or "UTC"
