"""Prometheus text, such as DCGM's exporter prints: a measure of how well cards are used, and never usage money."""

from __future__ import annotations

from django.utils.translation import gettext as _

from ..delivery import Settings
from ..reading.faults import FileRefused
from ..reading.header import Header
from ..reading.notes import Notes
from .contract import Format, Recognition, RowReader, Sample


def recognise(sample: Sample) -> Recognition | None:
    """Never a recognition: a refusal that says where it belongs."""
    lines = [line for line in sample.text.splitlines() if line.strip()][:50]
    is_text = any(line.startswith(("# HELP ", "# TYPE ", "DCGM_FI_")) for line in lines)
    is_answer = sample.text.lstrip().startswith("{") and '"resultType"' in sample.text
    if is_text or is_answer:
        raise _refusal()
    return None


def _refusal() -> FileRefused:
    return FileRefused(
        _(
            "This is a dump of Prometheus metrics: how well cards were used, not who used them for how long."
            " It belongs to a run: manage.py import_metrics FILE --run RUN."
        ),
        column="format",
        value="prometheus",
    )


def open_metrics(header: Header, settings: Settings, notes: Notes) -> RowReader:
    raise _refusal()


FORMAT = Format(slug="dcgm", name="DCGM / Prometheus", recognise=recognise, open=open_metrics)
