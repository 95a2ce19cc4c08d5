"""Questions about prices and estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

from django.db.models import Count, Max, Q
from django.utils.translation import gettext as _

from core.errors import Fault
from core.money import split
from core.months import Month
from core.vocabulary import Category
from estimates.baselines.queries import history_of
from estimates.engine import answer as engine
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook, PriceKey, PriceRow
from estimates.engine.difference import difference
from estimates.engine.explain import explain
from estimates.engine.hardware import refuse_missing_hardware, refuse_unknown_hardware
from estimates.engine.plan import Plan, PlanRefused, parse_plan
from estimates.engine.version import ENGINE_VERSION

from .answers import as_money
from .models import OFFER, PEAK_FIELDS, Accelerator, Estimate, EstimatePrice, EstimateQuerySet, Price, Verification
from .price_facts import PriceFacts
from .price_files import read_price_file

SAMPLES = 4000
"""How many samples an estimate has when nobody asks for another number."""
MOST_SAMPLES = 100_000


def price_book(seen_from: date | None = None) -> PriceBook:
    """Every price row, announced ones too; seen from a day, only those that start on or before it.

    Rows are only added, so a book is good until there is a newer row.
    """
    newest = Price.objects.aggregate(newest=Max("id"), rows=Count("id"))
    return _book_up_to(newest["newest"] or 0, newest["rows"], seen_from)


@lru_cache(maxsize=8)
def _book_up_to(newest: int, rows: int, seen_from: date | None) -> PriceBook:
    kept = Price.objects.filter(pk__lte=newest).order_by("id")
    return PriceBook(map(price_row, kept if seen_from is None else kept.filter(valid_from__lte=seen_from)))


def price_row(price: Price) -> PriceRow:
    """A price as the engine sees it."""
    return PriceRow(
        id=price.pk,
        kind=price.kind,
        item=price.item,
        provider=price.provider,
        region=price.region,
        mode=price.mode,
        unit=price.unit,
        amount=price.amount,
        currency=price.currency,
        valid_from=price.valid_from,
        source=price.source,
        verified=price.verification == Verification.VERIFIED,
        withdrawn=price.withdrawn,
        sequence=price.pk,
    )


SPEC_COLUMNS = ("slug", "name", "vendor", "memory_gb", "bandwidth_gbs", "board_w", "interconnect_gbs", "aliases")


def accelerator_book() -> AcceleratorBook:
    """The catalogue of accelerators as the engine sees it. Read as plain columns: every preview needs it whole."""
    return AcceleratorBook(map(_spec, Accelerator.objects.values_list(*SPEC_COLUMNS, *PEAK_FIELDS.values())))


def _spec(columns: tuple[Any, ...]) -> AcceleratorSpec:
    slug, name, vendor, memory, bandwidth, board, interconnect, aliases, *peaks = columns
    return AcceleratorSpec(
        slug=slug,
        name=name,
        vendor=vendor,
        memory_gb=_number(memory),
        bandwidth_gbs=_number(bandwidth),
        peaks={precision: float(peak) for precision, peak in zip(PEAK_FIELDS, peaks, strict=True) if peak is not None},
        board_w=_number(board),
        interconnect_gbs=_number(interconnect),
        aliases=tuple("-".join(alias.lower().split()) for alias in aliases),
    )


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def accelerator_names() -> dict[str, str]:
    """Every name an accelerator goes by, in small letters, and its short name."""
    names: dict[str, str] = {}
    for slug, name, aliases in Accelerator.objects.values_list("slug", "name", "aliases"):
        for known in (slug, name, *aliases):
            names.setdefault("-".join(known.lower().split()), slug)
    return names


def with_known_items(rows: Sequence[PriceFacts]) -> list[PriceFacts]:
    """The rows, with other names of accelerators replaced by the short names of the catalogue."""
    names = accelerator_names()
    return [
        replace(row, item=names.get(row.item, row.item)) if row.kind in ("accelerator", "purchase") else row
        for row in rows
    ]


def answer_for(
    plan: Plan,
    *,
    prices_on: date,
    samples: int | None = None,
    seen_from: date | None = None,
    team: int | None = None,
) -> dict[str, Any]:
    """The engine's answer for a plan at the prices of a day, with the catalogue of now.

    `seen_from` is a day in the past: what starts after it was not to be seen then. `team` is whose past runs count,
    beside those of the organisation.
    """
    return engine.estimate(
        plan,
        prices=price_book(seen_from),
        accelerators=accelerator_book(),
        prices_on=prices_on,
        samples=samples or SAMPLES,
        baseline=history_of(team, on=prices_on),
    )


def explanation_of(
    plan: Plan,
    quantity: str,
    *,
    prices_on: date,
    samples: int | None = None,
    seen_from: date | None = None,
    team: int | None = None,
) -> dict[str, Any]:
    """The tree of reasons behind a quantity; UnknownQuantity where the plan has none of this name."""
    return explain(
        plan,
        quantity,
        prices=price_book(seen_from),
        accelerators=accelerator_book(),
        prices_on=prices_on,
        samples=samples or SAMPLES,
        baseline=history_of(team, on=prices_on),
    )


@dataclass(frozen=True)
class Result:
    """What came of one of several plans: an answer, or why there is none."""

    plan: Plan | None = None
    answer: dict[str, Any] | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def refusal(self) -> str:
        """The faults as text, a line each."""
        return "\n".join(f"{fault.path}: {fault.message}" for fault in self.faults)


def difference_of(
    first: Plan,
    second: Plan,
    *,
    prices_on: date,
    samples: int | None = None,
    seen_from: date | None = None,
    team: int | None = None,
) -> dict[str, Any]:
    """What makes the second plan cost more or less than the first, by cause, at the same prices."""
    return difference(
        first,
        second,
        prices=price_book(seen_from),
        accelerators=accelerator_book(),
        prices_on=prices_on,
        samples=samples or SAMPLES,
        baseline=history_of(team, on=prices_on),
    )


PlanDocument = str | bytes | Mapping[str, Any]


Estimating = Callable[..., list[dict[str, Any]]]


def answers_for(
    wanted: Sequence[tuple[PlanDocument, int]],
    *,
    prices_on: date,
    seen_from: date | None = None,
    teams: Sequence[int | None] = (),
) -> list[Result]:
    """The answers for many plans, each with its sample count, in order; plans of one shape are computed together.

    `teams` says for each plan whose past runs count, or nothing where all are of none.
    """
    accelerators = accelerator_book()
    read = [_readable(document, accelerators) for document, _samples in wanted]
    estimating = partial(engine.estimate_many, accelerators=accelerators, prices=price_book(seen_from))
    return _results(estimating, read, wanted, prices_on, teams)


def priced_again(
    wanted: Sequence[tuple[PlanDocument, int]], *, prices_on: date, teams: Sequence[int | None] = ()
) -> list[Result]:
    """The same without what lasts, for plans whose `ground_of` is that of their last answer. That nothing lacks without
    which they cannot be computed was found then."""
    accelerators = accelerator_book()
    read = [_readable(document, accelerators, refuse_missing_hardware) for document, _samples in wanted]
    estimating = partial(engine.priced_again, accelerators=accelerators, prices=price_book())
    return _results(estimating, read, wanted, prices_on, teams)


def _results(
    estimating: Estimating,
    results: list[Result],
    wanted: Sequence[tuple[PlanDocument, int]],
    prices_on: date,
    teams: Sequence[int | None],
) -> list[Result]:
    histories = {team: history_of(team, on=prices_on) for team in set(teams) or {None}}
    for samples in sorted({samples for _document, samples in wanted}):
        mine = [
            index for index, result in enumerate(results) if result.plan is not None and wanted[index][1] == samples
        ]
        answered = estimating(
            [plan for index in mine if (plan := results[index].plan)],
            prices_on=prices_on,
            samples=samples,
            baselines={place: histories[teams[index] if teams else None] for place, index in enumerate(mine)},
        )
        for index, answer in zip(mine, answered, strict=True):
            results[index] = replace(results[index], answer=answer)
    return results


def world_of(team: int | None, *, on: date) -> str:
    """A fingerprint of all that answers rest on beside plan and prices: engine, catalogue, what past runs taught."""
    parts = (ENGINE_VERSION, accelerator_book().specs, history_of(team, on=on).recorded)
    return sha256(repr(parts).encode()).hexdigest()


def ground_of(document: Mapping[str, Any], world: str, *, on: date) -> str:
    """The same for one plan: a plan that says no start begins on the day."""
    return f"{world} {document.get('start') or on}"


def read_plan(document: PlanDocument) -> Result:
    """A plan that was understood and names hardware of the catalogue, or the faults."""
    return _readable(document, accelerator_book())


def _readable(
    document: PlanDocument,
    accelerators: AcceleratorBook,
    refuse: Callable[[Plan, AcceleratorBook], None] = refuse_unknown_hardware,
) -> Result:
    try:
        plan = parse_plan(document)
        refuse(plan, accelerators)
    except PlanRefused as refused:
        return Result(faults=tuple(refused.faults))
    return Result(plan)


def ask_by_line_and_month(estimate: Estimate) -> dict[tuple[Category, Month], Decimal]:
    """The ask of an estimate on each line in each month, in whole smallest units; it adds up to `ask_total`.

    Each line of the ask falls on the months as its mean does; contingency as the whole does. Nothing where the
    estimate has no total.
    """
    lines = estimate.answer["ask"]["by_line"]
    months = estimate.answer["cost"]["by_month"]
    if estimate.ask_total is None:
        return {}
    spread: dict[tuple[Category, Month], Decimal] = {}
    for line, amount in lines.items():
        total = as_money(amount, estimate.currency) or Decimal(0)
        shares = [_month_share(month, line) for month in months]
        weights = shares if any(shares) else [Decimal(1), *(Decimal(0) for _month in months[1:])]
        parts = split(total, weights, estimate.currency) if total else []
        for month, part in zip(months, parts, strict=False):
            if part:
                spread[Category(line), Month.parse(month["month"])] = part
    return spread


def _month_share(month: Mapping[str, Any], line: str) -> Decimal:
    number = month["mean"] if line == Category.CONTINGENCY else month["by_line"][line]
    return max(Decimal(repr(number or 0)), Decimal(0))


def affected_drafts(keys: PriceKey | Iterable[PriceKey]) -> EstimateQuerySet:
    """Drafts that asked for one of these offers, whether they found a price or missed it."""
    wanted = [keys] if isinstance(keys, PriceKey) else list(keys)
    asked = Q(pk__in=[])
    for key in wanted:
        asked |= Q(
            kind=key.kind,
            item=key.item,
            mode=key.mode,
            currency=key.currency,
            provider__in={"", key.provider},
            region__in={"", key.region},
        )
    return Estimate.objects.drafts().filter(pk__in=EstimatePrice.objects.filter(asked).values("estimate"))


def key_of(price: Price | PriceFacts) -> PriceKey:
    """The offer of a price row, as the estimates ask for it."""
    return PriceKey(*(getattr(price, name) for name in OFFER))


@dataclass(frozen=True)
class PriceChange:
    """What adding one row would do: `new`, `changed`, `confirmed`, `corrected`, `withdrawn` or `unchanged`."""

    facts: PriceFacts
    kind: str
    before: Price | None
    known_item: bool = True


def price_changes(rows: Sequence[PriceFacts]) -> list[PriceChange]:
    """What each row would change, compared with what is kept now."""
    offers = {row.offer for row in rows}
    histories: dict[tuple[str, ...], list[Price]] = {}
    for price in Price.objects.filter(item__in={row.item for row in rows}).order_by("valid_from", "id"):
        key = tuple(getattr(price, name) for name in OFFER)
        if key in offers:
            histories.setdefault(key, []).append(price)
    accelerators = set(Accelerator.objects.values_list("slug", flat=True))
    return [_change(row, histories.get(row.offer, []), accelerators) for row in rows]


def _change(row: PriceFacts, history: Sequence[Price], accelerators: set[str]) -> PriceChange:
    before = next((price for price in reversed(history) if price.valid_from <= row.valid_from), None)
    known = row.kind not in ("accelerator", "purchase") or row.item in accelerators
    if before is not None and _is_same(row, before):
        return PriceChange(row, "unchanged", before, known)
    if row.withdrawn:
        return PriceChange(row, "withdrawn", before, known)
    if history and history[-1].valid_from >= row.valid_from:
        return PriceChange(row, "corrected", before, known)
    if before is None or before.withdrawn:
        return PriceChange(row, "new", before, known)
    return PriceChange(row, "confirmed" if row.amount == before.amount else "changed", before, known)


def _is_same(row: PriceFacts, price: Price) -> bool:
    return (
        row.amount == price.amount
        and row.withdrawn == price.withdrawn
        and row.verified == (price.verification == Verification.VERIFIED)
        and row.source == price.source
        and (row.valid_from == price.valid_from or row.withdrawn)
    )


def missing_reason(change: PriceChange, *, place: str = "") -> Fault | None:
    """A correction says why the earlier row was wrong."""
    if change.kind != "corrected" or change.facts.reason:
        return None
    return Fault(
        f"{place}, reason" if place else "reason",
        change.facts.reason,
        _("is missing: %(item)s has a price from this day or later already") % {"item": change.facts.item},
        _("why the earlier row was wrong"),
    )


@dataclass(frozen=True)
class ImportPreview:
    """What importing a price file would do, before anything is written."""

    changes: tuple[tuple[int, PriceChange], ...]
    """The line of the file, and what it would change."""
    faults: tuple[Fault, ...]
    drafts: EstimateQuerySet
    """Drafts that would be computed again."""

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(change.kind for _line, change in self.changes))

    @property
    def new_rows(self) -> list[PriceFacts]:
        return [change.facts for _line, change in self.changes if change.kind != "unchanged"]


def preview_import(content: bytes) -> ImportPreview:
    """Read a price file and compare it with what is kept. Faults name line, column, value and what is accepted."""
    read = read_price_file(content)
    changes = price_changes(with_known_items(read.rows))
    numbered = tuple(zip(read.lines, changes, strict=True))
    reasons = (missing_reason(change, place=f"line {line}") for line, change in numbered)
    faults = (*read.faults, *(fault for fault in reasons if fault))
    keys = {key_of(change.facts) for change in changes if change.kind != "unchanged"}
    return ImportPreview(numbered, faults, affected_drafts(keys))
