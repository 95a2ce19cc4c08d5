"""Prometheus text and range answers, such as DCGM's exporter gives: how well cards were used.

Blank values of DCGM are no measurements. Text has no time of its own: the time of the scrape must come with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from ...reading.faults import FileRefused
from .contract import Head, Log, MetricFormat, Point, lines_of, moment, number_of

SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?[0-9]{1,15}))?")
LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
BLANK_INT32, BLANK_INT64 = (2147483632, 2147483647), 9223372036854775792
CARD_LABELS = ("UUID", "uuid", "gpu", "device")
MOST_BYTES = 64 << 20


def recognise(head: Head) -> str:
    if head.text.lstrip().startswith("{") and '"resultType"' in head.text:
        return "the JSON is an answer of Prometheus"
    if any(line.startswith(("# TYPE ", "# HELP ", "DCGM_FI_")) for line in head.lines[:50]):
        return "the text has the lines of a Prometheus exporter"
    return ""


def read(log: Log) -> Iterator[Point]:
    first = next((line for line in lines_of(log.path) if line.strip()), "")
    yield from _answer(log) if first.lstrip().startswith("{") else _text(log)


def _text(log: Log) -> Iterator[Point]:
    for line in lines_of(log.path):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        match = SAMPLE.fullmatch(bare)
        if match is None:
            log.ignore("cut_line", bare)
            continue
        name, labels, value, milliseconds = match.groups()
        at = moment(int(milliseconds) / 1000) if milliseconds else log.at
        if at is None:
            raise FileRefused(
                _("The text has no time. Say when it was scraped: --at 2025-03-01T08:00:00Z."), column="at", value=""
            )
        yield from _point(log, series_name(name, dict(LABEL.findall(labels or ""))), at, value)


def _answer(log: Log) -> Iterator[Point]:
    if log.path.stat().st_size > MOST_BYTES:
        raise FileRefused(_("The file is larger than an answer of Prometheus should be. Ask for fewer days at a time."))
    try:
        document = json.loads(log.path.read_text(encoding="utf-8-sig"))
        results = document["data"]["result"]
        for result in results:
            labels = {str(key): str(value) for key, value in result["metric"].items()}
            name = series_name(labels.get("__name__", "value"), labels)
            for seconds, value in result.get("values") or [result["value"]]:
                at = moment(number_of(seconds)[1])
                if at is None:
                    log.ignore("cut_line", name)
                else:
                    yield from _point(log, name, at, value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileRefused(_("The answer of Prometheus cannot be read: %(error)s") % {"error": error}) from None


def _point(log: Log, name: str, at: datetime, value: object) -> Iterator[Point]:
    known, number = number_of(value)
    if not known:
        log.ignore("no_number", name)
    elif number is None or number >= BLANK_INT64 or BLANK_INT32[0] <= number <= BLANK_INT32[1]:
        log.ignore("blank_value", name)
    else:
        yield Point(name, int(at.timestamp()), at, number)


def series_name(metric: str, labels: Mapping[str, str]) -> str:
    """The metric and the card (or its slice): `DCGM_FI_DEV_GPU_UTIL GPU-604ac76c`."""
    card = next((labels[name] for name in CARD_LABELS if labels.get(name)), "")
    slice_ = labels.get("GPU_I_ID", "")
    return " ".join(part for part in (metric, card, slice_) if part)[:200]


FORMAT = MetricFormat("dcgm", "DCGM / Prometheus", recognise, read)
