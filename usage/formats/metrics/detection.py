"""Which format a file of run metrics has: by its content."""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext as _

from core.errors import Fault

from ...reading.faults import FileRefused
from . import json_lines, megatron, mlflow, prometheus, step_lines, tensorboard
from .contract import HEAD, Head, MetricFormat

FORMATS: tuple[MetricFormat, ...] = (
    tensorboard.FORMAT,
    mlflow.FORMAT,
    megatron.FORMAT,
    prometheus.FORMAT,
    json_lines.FORMAT,
    step_lines.FORMAT,
)


def detect(path: Path, wanted: str = "") -> tuple[MetricFormat, str]:
    """The format of a file or folder, and why."""
    slugs = ", ".join(known.slug for known in FORMATS)
    if wanted:
        chosen = next((known for known in FORMATS if known.slug == wanted), None)
        if chosen is None:
            raise FileRefused(
                _("There is no format %(slug)s.") % {"slug": wanted},
                faults=[Fault("format", wanted, _("is no format"), slugs)],
            )
        if path.is_dir() and chosen is not mlflow.FORMAT:
            raise FileRefused(_("Only a run of MLflow is a folder."), column="format", value=wanted)
        return chosen, _("chosen by hand")
    head = head_of(path)
    for known in FORMATS:
        if reason := known.recognise(head):
            return known, reason
    raise FileRefused(
        _("No format of run metrics knows this file. Formats: %(slugs)s.") % {"slugs": slugs},
        column="format",
        value=head.text[:100],
    )


def head_of(path: Path) -> Head:
    if path.is_dir():
        return Head(path, b"", "")
    with path.open("rb") as file:
        raw = file.read(HEAD)
    if not raw:
        raise FileRefused(_("The file is empty: zero bytes."))
    return Head(path, raw, raw.decode("utf-8-sig", "replace"))
