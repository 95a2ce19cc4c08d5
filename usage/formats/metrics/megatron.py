"""Golden values of Megatron's functional tests: `{"lm loss": {"start_step": 1, "values": {"1": 10.5}}}`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.utils.translation import gettext as _

from ...reading.faults import FileRefused
from .contract import Head, Log, MetricFormat, Point, number_of, step_of

MOST_BYTES = 64 << 20


def recognise(head: Head) -> str:
    if head.text.lstrip().startswith("{") and '"start_step"' in head.text and '"values"' in head.text:
        return "the JSON holds series with start_step and values, as Megatron writes golden values"
    return ""


def read(log: Log) -> Iterator[Point]:
    if log.path.stat().st_size > MOST_BYTES:
        raise FileRefused(_("The file is larger than golden values are."))
    try:
        document = json.loads(log.path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileRefused(_("The file is no JSON: %(error)s") % {"error": error}) from None
    for name, series in document.items() if isinstance(document, dict) else ():
        values = series.get("values") if isinstance(series, dict) else None
        if not isinstance(values, dict):
            log.ignore("no_series", str(name))
            continue
        for step_text, value in values.items():
            step, (known, number) = step_of(step_text), number_of(value)
            if step is None or not known:
                log.ignore("no_number", f"{name} {step_text}")
            else:
                yield Point(str(name), step, None, number)


FORMAT = MetricFormat("megatron", "Megatron golden values", recognise, read)
