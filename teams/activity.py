"""The activity log: every change leaves one row that says who did what to what."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.db import models

from core.money import exact_text

from .models import Activity, Project, Team, User


def record(
    verb: str,
    *,
    by: User | None,
    project: Project | None = None,
    team: Team | None = None,
    subject: models.Model | None = None,
    **facts: Any,
) -> Activity:
    """Write one row. `by=None` is the product itself; facts are kept as JSON, money as exact text."""
    row = unwritten(verb, by=by, project=project, team=team, subject=subject, **facts)
    row.save(force_insert=True)
    return row


def record_all(rows: Iterable[Activity]) -> None:
    """Write many rows at once, made by `unwritten`."""
    Activity.objects.bulk_create(rows)


def unwritten(
    verb: str,
    *,
    by: User | None,
    project: Project | None = None,
    team: Team | None = None,
    subject: models.Model | None = None,
    **facts: Any,
) -> Activity:
    """A row of the log that is not written yet."""
    return Activity(
        by=by,
        verb=verb,
        project=project,
        team=team or (project.team if project else None),
        subject_type=subject._meta.label_lower if subject else "",
        subject_id=str(subject.pk) if subject else "",
        facts={name: as_json(value) for name, value in facts.items()},
    )


def as_json(value: Any) -> Any:
    """Decimals as exact text, dates and models as their text, the rest as it is."""
    if isinstance(value, Decimal):
        return exact_text(value)
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
