"""What inference services were asked for: requests, tokens, tail latency, timeouts and cache hits by the hour.

Any table or JSON lines with a time, a service and counts, by names such as monitoring systems give. A delivery is a
log: an hour of a service that comes again replaces itself. It bears no money; the service's bill or cards do.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from core.money import exact_text
from core.vocabulary import Category

from ..delivery import Settings
from ..models import Meaning, Money
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header, plain
from ..reading.json_items import JsonCursor, JsonRecords
from ..reading.notes import Notes
from ..reading.numbers import NULLS, number_reader
from ..reading.times import Instant, instant, later, time_reader
from .bills import after
from .contract import Format, Keys, Recognition, Records, Row, Sample, ScopeKey
from .tags import as_text, reference_of

COUNTS = {
    "requests": (
        "requests", "request_count", "requests_total", "num_requests", "calls", "http_requests", "http_requests_total",
        "request_success_total", "vllm_request_success_total", "nv_inference_request_success", "model_requests",
    ),
    "input_tokens": (
        "input_tokens", "prompt_tokens", "prompt_tokens_total", "input_tokens_total", "tokens_in", "prefill_tokens",
        "vllm_prompt_tokens_total", "context_tokens",
    ),
    "output_tokens": (
        "output_tokens", "completion_tokens", "generation_tokens", "generation_tokens_total", "output_tokens_total",
        "tokens_out", "generated_tokens", "decode_tokens", "vllm_generation_tokens_total",
    ),
    "timeouts": ("timeouts", "timeout_count", "timeouts_total", "timed_out", "request_timeouts", "requests_timeout"),
    "cache_hits": ("cache_hits", "cache_hit_count", "cache_hits_total", "cached_requests", "hits"),
}  # fmt: skip
"""What is counted, by the names it goes by; each is a unit of `usage_total`."""
COUNTS_BESIDE = tuple(name for name in COUNTS if name != "requests")
"""Counts that stand beside a row's quantity, which is its requests."""
LATENCY = {
    "ms": (
        "p95_latency_ms", "latency_p95_ms", "p95_ms", "latency_ms_p95", "p95_latency_milliseconds", "ttlt_p95_ms",
        "p95_latency", "latency_p95", "p95",
    ),
    "s": (
        "p95_latency_seconds", "latency_p95_seconds", "p95_seconds", "latency_seconds_p95", "p95_latency_s", "p95_s",
        "latency_p95_s", "e2e_request_latency_seconds_p95",
    ),
}  # fmt: skip
WITHOUT_UNIT = ("p95_latency", "latency_p95", "p95")
TEXTS = {
    "service": ("service", "service_name", "app", "application", "deployment", "job", "endpoint_name"),
    "account": ("account", "cluster", "environment", "env"),
    "model": ("model", "model_name", "model_id"),
    "region": ("region", "zone"),
    "namespace": ("namespace",),
    "instance": ("instance", "pod", "replica", "hostname"),
    "route": ("route", "endpoint", "path", "method", "handler", "tier"),
}
START = (
    "time", "timestamp", "ts", "hour", "start", "window_start", "interval_start", "period_start", "usage_start",
    "start_time", "bucket", "date_hour", "_time",
)  # fmt: skip
END = ("end", "window_end", "interval_end", "period_end", "usage_end", "end_time")
EPOCH = re.compile(r"[0-9]{10}(?:[0-9]{3})?(?:\.[0-9]{1,9})?")
HOUR = timedelta(hours=1)
AS_ONE = re.compile(r"[^a-z0-9]+")


def as_one(name: str) -> str:
    """`vllm:prompt_tokens_total`, `Prompt Tokens (total)` and `promptTokensTotal` are compared by their words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return AS_ONE.sub("_", plain(spaced)).strip("_")


ALL = {**COUNTS, **TEXTS, "start": START, "end": END, "p95_ms": LATENCY["ms"], "p95_s": LATENCY["s"]}


def recognise(sample: Sample) -> Recognition | None:
    """A time, a service, and at least two things that are counted or measured of it."""
    names = json_names(sample.text) if is_json(sample.text) else sample.header.names
    header = Header(names, same=as_one)
    measured = [
        header.names[at] for at in (header.at(*ALL[name]) for name in (*COUNTS, "p95_ms", "p95_s")) if at is not None
    ]
    if header.at(*START) is None or header.at(*TEXTS["service"], *TEXTS["model"]) is None or len(measured) < 2:
        return None
    if header.at(*COUNTS["requests"], *COUNTS["input_tokens"], *COUNTS["output_tokens"]) is None:
        return None
    return Recognition(55, _("hours of a service, with %(names)s") % {"names": ", ".join(measured)})


def is_json(text: str) -> bool:
    return text.lstrip("\ufeff \r\n\t")[:1] in ("{", "[")


def json_names(text: str) -> list[str]:
    """The names of the first object of a JSON text, also where the text is cut off behind it."""
    start = text.find("{")
    try:
        found, _end = json.JSONDecoder().raw_decode(text[start:]) if start >= 0 else ({}, 0)
    except (ValueError, RecursionError):
        return []
    return list(flat(found)) if isinstance(found, dict) else []


def flat(record: Mapping[str, Any]) -> dict[str, str]:
    """The values of an object as text, those of `labels` and `metric` beside them."""
    found: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= {inner: as_text(item) for inner, item in value.items()}
        else:
            found[name] = as_text(value)
    return found


def records(stream: io.BufferedReader, settings: Settings, notes: Notes) -> Records | None:
    """JSON lines, or an array of objects; a table is cut like any other."""
    if not is_json(stream.peek(64)[:64].decode("utf-8", "replace")):
        return None
    return JsonRecords(stream, objects)


def objects(cursor: JsonCursor) -> Iterator[bytes]:
    if cursor.peek() == b"[":
        for _place in cursor.places():
            yield cursor.value()
    while cursor.peek():
        yield cursor.value()


class ServiceKey(NamedTuple):
    texts: tuple[str, ...]
    tags: str


class ServiceReader:
    """Reads hours of services, from fields or from objects."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes, self._zone = settings, notes, settings.timezone
        self._header = Header(header.names, same=as_one) if len(header) else None
        self._number = number_reader(native=True)
        self._time = time_reader(self._zone, date_order=settings.date_order or None)
        names = header.names
        exact = [at for name in (*COUNTS, "start", "end", "service") if (at := self._place(name)) is not None]
        self.exact_places = frozenset(exact)
        cumulative = [name for name in names if as_one(name).endswith("_total")]
        if cumulative:
            notes.warn_once("totals_of_the_hour", detail=", ".join(cumulative)[:200])

    def _place(self, name: str) -> int | None:
        return self._header.at(*ALL[name]) if self._header else None

    def row(self, record: Any) -> Row:
        fields = self._fields(record)
        start = self._moment(fields, "start", None)
        end = after(start, self._moment(fields, "end", start), "end")
        counts = {name: self._count(fields, name) for name in COUNTS}
        if all(count is None for count in counts.values()):
            raise RowFault("requests", "", "is empty, and so is every other count")
        self._warn_of_odd(counts)
        latency = self._latency(fields)
        texts = tuple(self._text(fields, name) for name in TEXTS)
        if not texts[0] and not self._text(fields, "model"):
            raise RowFault("service", "", "is empty; an hour belongs to a service")
        rest, tags = self._rest(fields)
        kept = {name: count for name, count in counts.items() if count is not None and name != "requests"}
        kept |= {"p95_ms": latency} if latency is not None else {}
        key = ServiceKey(texts, tags)
        return Row(
            key=key,
            scope=ScopeKey("", "", None),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=start.month,
            currency="",
            billed=None,
            effective=None,
            quantity=counts["requests"],
            extra=json.dumps(kept | rest, ensure_ascii=False, sort_keys=True) if kept or rest else None,
            row_key=json.dumps([start.text, *texts, tags]),
        )

    def _fields(self, record: Any) -> dict[str, tuple[str, str]]:
        """Values by compared name, each with the name that stood in the file."""
        if isinstance(record, dict):
            return {as_one(name): (name, text) for name, text in flat(record).items()}
        if self._header is None:
            raise RowFault("", as_text(record)[:200], "is no JSON object")
        return {
            same: (name, text) for same, name, text in zip(self._header.plain, self._header.names, record, strict=True)
        }

    def _found(self, fields: dict[str, tuple[str, str]], name: str) -> tuple[str, str]:
        """Our value by any of its names: what it is called, and its text without blanks."""
        for alias in ALL[name]:
            if alias in fields:
                called, text = fields[alias]
                cleaned = text.strip()
                return called, "" if cleaned in NULLS else cleaned
        return name, ""

    def _text(self, fields: dict[str, tuple[str, str]], name: str) -> str:
        return self._found(fields, name)[1]

    def _moment(self, fields: dict[str, tuple[str, str]], name: str, start: Instant | None) -> Instant:
        """A time or seconds (milliseconds) since 1970; an end that is not there is an hour after its start."""
        called, text = self._found(fields, name)
        if start is not None and not text:
            return later(start, HOUR, self._zone, called)
        if EPOCH.fullmatch(text):
            whole, _point, _rest = text.partition(".")
            seconds = int(whole) if len(whole) == 10 else int(whole) // 1000
            return instant(datetime.fromtimestamp(seconds, UTC), self._zone)
        return self._time(text, called)

    def _count(self, fields: dict[str, tuple[str, str]], name: str) -> str | None:
        called, text = self._found(fields, name)
        count = self._number(text, called)
        if count is not None and count.startswith("-"):
            raise RowFault(called, text, "is less than nothing")
        return count

    def _latency(self, fields: dict[str, tuple[str, str]]) -> str | None:
        """The 95th percentile in milliseconds; not a number is unknown."""
        for name, factor in (("p95_ms", 1), ("p95_s", 1000)):
            called, text = self._found(fields, name)
            if not text or text.casefold() in ("nan", "+inf", "inf"):
                continue
            if as_one(called) in WITHOUT_UNIT:
                self._notes.warn_once("latency_in_milliseconds", detail=called)
            number = self._number(text, called)
            if number is None or number.startswith("-"):
                raise RowFault(called, text, "is less than nothing")
            return exact_text(Decimal(number) * factor)
        return None

    def _warn_of_odd(self, counts: Mapping[str, str | None]) -> None:
        requests = counts["requests"]
        for name in ("timeouts", "cache_hits"):
            part = counts[name]
            if requests is not None and part is not None and Decimal(part) > Decimal(requests):
                self._notes.warn("more_than_requests", detail=f"{name} {part} > {requests}")

    def _rest(self, fields: dict[str, tuple[str, str]]) -> tuple[dict[str, str], str]:
        """Columns without a meaning here: numbers go with the row, words tell services apart, as tags do."""
        used = {alias for aliases in ALL.values() for alias in aliases}
        rest = {name: text.strip() for same, (name, text) in fields.items() if same not in used}
        kept = {name: text for name, text in rest.items() if text not in NULLS}
        numbers = {name: text for name, text in kept.items() if NUMERIC.fullmatch(text)}
        words = {name: text for name, text in kept.items() if name not in numbers}
        return numbers, json.dumps(words, ensure_ascii=False, sort_keys=True) if words else ""

    def describe(self, key: ServiceKey) -> Keys:
        values = dict(zip(TEXTS, key.texts, strict=True))
        tags: dict[str, str] = json.loads(key.tags) if key.tags else {}
        tags |= {name: values[name] for name in ("model", "route") if values[name]}
        return Keys(
            account=values["account"],
            service=values["service"] or values["model"],
            sku=values["model"],
            region=values["region"],
            unit="requests",
            resource=values["instance"],
            namespace=values["namespace"],
            category=Category.COMPUTE,
            reference=reference_of(tags),
            tags=tags,
        )


NUMERIC = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|NaN|[-+]?Inf(?:inity)?")


def open_service(header: Header, settings: Settings, notes: Notes) -> ServiceReader:
    """Check the header of a table; objects say what they hold themselves."""
    if len(header):
        by_words = Header(header.names, same=as_one)
        by_words.refuse_twins(ALL)
        by_words.insist({"time": START, "service": (*TEXTS["service"], *TEXTS["model"])})
        if by_words.at(*(alias for aliases in COUNTS.values() for alias in aliases)) is None:
            message = _("Nothing is counted: one of %(names)s is needed.") % {"names": ", ".join(COUNTS)}
            raise FileRefused(message, column="requests")
    return ServiceReader(header, settings, notes)


FORMAT = Format(
    slug="service",
    name="Service metrics",
    recognise=recognise,
    open=open_service,
    meaning=Meaning.LOG,
    money=Money.NONE,
    records=records,
)
