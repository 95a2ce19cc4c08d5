"""Changes to prices and estimates. A price, and the staleness of the drafts that used it, are one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from estimates.engine.plan import parse_plan
from teams import activity, permissions
from teams.models import Organisation, Project, User

from . import answers, queries, storage
from .catalogue_files import shipped_accelerators, shipped_prices
from .models import OFFER, Accelerator, Estimate, EstimatePrice, EstimateRevision, Price, Verification
from .price_facts import PriceFacts, read_price
from .queries import PlanDocument

logger = logging.getLogger(__name__)

PRICES_LOCK = 4_172_001
"""Advisory lock: shared while estimates are made from the prices, exclusive while prices are added."""


def hold_prices() -> None:
    """Until the end of the transaction nobody adds a price, so that no estimate being made misses one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [PRICES_LOCK])


def lock_prices() -> None:
    """Until the end of the transaction nobody else adds a price or makes an estimate."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [PRICES_LOCK])


# ---- estimates


@transaction.atomic
def create_estimate(
    *,
    by: User,
    project: Project | None,
    plan: PlanDocument,
    samples: int | None = None,
    now: datetime | None = None,
) -> Estimate:
    """Estimate a plan at the prices of today and keep it as a draft; PlanRefused lists what is wrong with the plan."""
    hold_prices()
    _check_may_plan(by, project)
    estimate = Estimate(project=project, created_by=by, samples=samples or queries.SAMPLES)
    _compute(estimate, plan, now=now or timezone.now())
    estimate.save(force_insert=True)
    _keep_price_keys(estimate)
    _add_revision(estimate, EstimateRevision.Why.CREATED, by=by)
    activity.record("estimate.created", by=by, project=project, subject=estimate, total=estimate.total_mean)
    return estimate


@transaction.atomic
def revise_estimate(estimate: Estimate, *, by: User, plan: PlanDocument, now: datetime | None = None) -> Estimate:
    """Give a draft another plan, and estimate it at the prices of today."""
    hold_prices()
    locked = Estimate.objects.select_for_update(of=("self",)).select_related("project__team").get(pk=estimate.pk)
    _check_may_plan(by, locked.project, owner=locked.created_by)
    if locked.state != Estimate.State.DRAFT:
        raise DomainError(_("This estimate is frozen. Clone it to go on from its plan."), code="estimate_frozen")
    before = locked.total_mean
    _compute(locked, plan, now=now or timezone.now())
    locked.save()
    _keep_price_keys(locked)
    _add_revision(locked, EstimateRevision.Why.PLAN, by=by, before=before)
    activity.record(
        "estimate.revised", by=by, project=locked.project, subject=locked, before=before, total=locked.total_mean
    )
    return locked


def clone_estimate(
    estimate: Estimate, *, by: User, project: Project | None = None, now: datetime | None = None
) -> Estimate:
    """A new draft with the same plan, in the same project or another, at the prices of today."""
    if not Estimate.objects.visible_to(by).filter(pk=estimate.pk).exists():
        raise DomainError(_("There is no such estimate."), code="not_found")
    return create_estimate(
        by=by, project=project or estimate.project, plan=estimate.plan, samples=estimate.samples, now=now
    )


@transaction.atomic
def freeze_estimate(estimate: Estimate, *, by: User) -> Estimate:
    """Keep a draft for good, with its plan, prices and result: it was submitted."""
    locked = Estimate.objects.select_for_update(of=("self",)).select_related("project__team").get(pk=estimate.pk)
    _check_may_plan(by, locked.project, owner=locked.created_by)
    if locked.state == Estimate.State.FROZEN:
        return locked
    if locked.stale_since:
        raise DomainError(
            _("Prices have changed since this was computed. Look at the new total, then try again."),
            code="estimate_stale",
        )
    if locked.ask_total is None:
        raise DomainError(
            _("This plan has no total yet: %(why)s") % {"why": answers.why_no_total(locked.answer)},
            code="estimate_incomplete",
        )
    locked.state = Estimate.State.FROZEN
    locked.save(update_fields=["state"])
    activity.record("estimate.frozen", by=by, project=locked.project, subject=locked, total=locked.total_mean)
    return locked


def _check_may_plan(by: User, project: Project | None, owner: User | None = None) -> None:
    """Plans of a project are written by its team; a plan without a project belongs to who made it."""
    if project is None:
        if owner is not None and owner != by:
            raise NotAllowed(_("This plan belongs to somebody else."))
    elif not permissions.may_write_plans(by, project.team):
        raise NotAllowed(_("Plans of %(team)s are written by its members.") % {"team": project.team})


def _compute(estimate: Estimate, plan: PlanDocument, *, now: datetime) -> None:
    """Estimate a plan at the prices of the day, and fill in what is kept of it."""
    parsed = parse_plan(plan)
    today, team = Organisation.current().today(now), team_of(estimate)
    answer = queries.answer_for(parsed, prices_on=today, samples=estimate.samples, team=team)
    ground = queries.ground_of(parsed.document, queries.world_of(team, on=today), on=today)
    answers.fill(estimate, parsed, answer, ground)
    estimate.prices_on = today
    estimate.computed_at = now
    estimate.stale_since = estimate.stale_price = None
    estimate.refusal = ""


def team_of(estimate: Estimate) -> int | None:
    """Whose past runs speak for it."""
    return estimate.project.team_id if estimate.project else None


def _keep_price_keys(estimate: Estimate) -> None:
    """The prices an estimate asked for, as rows by which a new price finds it."""
    names = ("kind", "item", "provider", "region", "mode", "currency")
    wanted = {tuple(key) for key in estimate.answer["price_keys"]}
    kept = set(estimate.price_keys.values_list(*names))
    if kept - wanted:
        estimate.price_keys.all().delete()
        kept = set()
    EstimatePrice.objects.bulk_create(
        EstimatePrice(estimate=estimate, **dict(zip(names, key, strict=True))) for key in sorted(wanted - kept)
    )


def _add_revision(
    estimate: Estimate, why: EstimateRevision.Why, *, by: User | None, before: Decimal | None = None
) -> None:
    EstimateRevision.objects.create(
        estimate=estimate, at=estimate.computed_at, by=by, why=why, old_total=before, new_total=estimate.total_mean
    )


# ---- recomputation after a price change


@transaction.atomic
def recompute_estimates(ids: Iterable[int], *, now: datetime | None = None) -> int:
    """Compute these drafts again where they are stale and no other worker has them; how many that were."""
    drafts = Estimate.objects.stale().filter(pk__in=list(ids))
    return _recompute(drafts.order_by("id"), now or timezone.now())


@transaction.atomic
def recompute_next(limit: int, *, now: datetime | None = None) -> int:
    """Compute the next few stale drafts that no other worker has; 0 when nothing is left."""
    drafts = Estimate.objects.stale().filter(refusal="")
    return _recompute(drafts.order_by("id")[:limit], now or timezone.now())


def _recompute(drafts: QuerySet[Estimate], now: datetime) -> int:
    hold_prices()
    before = {
        "prices_before": F("priced__prices"),
        "compared_before": F("priced__prices_compared"),
        "keys_before": F("priced__price_keys"),
        "baselines_before": F("priced__baselines"),
        "team": F("project__team"),
    }
    kept = drafts.defer("priced", "lasting").annotate(**before)
    locked = list(kept.select_for_update(skip_locked=True, of=("self",)))
    if not locked:
        return 0
    today = Organisation.current().today(now)
    grounds = _grounds_of(locked, today)
    revisions = [
        revision
        for estimate, result in zip(locked, _answers_of(locked, grounds, today), strict=True)
        if (revision := _follow_prices(estimate, result, grounds[estimate.pk], today=today, now=now))
    ]
    storage.write_recomputed(locked)
    EstimateRevision.objects.bulk_create(revisions)
    return len(locked)


def _grounds_of(estimates: Sequence[Estimate], today: date) -> dict[int, str]:
    """What the answer of each rests on today, beside plan and prices."""
    teams = {estimate.team for estimate in estimates}  # type: ignore[attr-defined]
    worlds = {team: queries.world_of(team, on=today) for team in teams}
    return {
        estimate.pk: queries.ground_of(estimate.plan, worlds[estimate.team], on=today)  # type: ignore[attr-defined]
        for estimate in estimates
    }


def _answers_of(estimates: Sequence[Estimate], grounds: Mapping[int, str], today: date) -> list[queries.Result]:
    """Where only prices moved, what they move; else the whole answer."""
    priced = [estimate for estimate in estimates if estimate.lasting_ground == grounds[estimate.pk]]
    whole = [estimate for estimate in estimates if estimate.lasting_ground != grounds[estimate.pk]]
    found = _together(queries.priced_again, priced, today) | _together(queries.answers_for, whole, today)
    return [found[estimate.pk] for estimate in estimates]


def _together(
    answering: Callable[..., list[queries.Result]], estimates: Sequence[Estimate], today: date
) -> dict[int, queries.Result]:
    """The answers, computed together; where one of them breaks, each by itself, so that the others go on."""
    if not estimates:
        return {}
    wanted = [(estimate.plan, estimate.samples) for estimate in estimates]
    teams = [estimate.team for estimate in estimates]  # type: ignore[attr-defined]
    try:
        results = answering(wanted, prices_on=today, teams=teams)
    except Exception:
        if len(estimates) == 1:
            logger.exception("estimate %s broke", estimates[0].pk)
            broken = Fault("", None, _("The computation broke; the log of the worker says why."))
            return {estimates[0].pk: queries.Result(faults=(broken,))}
        logger.exception("a batch of %s estimates broke; each is computed by itself", len(wanted))
        alone = [_together(answering, [estimate], today) for estimate in estimates]
        return {pk: result for found in alone for pk, result in found.items()}
    return {estimate.pk: result for estimate, result in zip(estimates, results, strict=True)}


def _follow_prices(
    estimate: Estimate, result: queries.Result, ground: str, *, today: date, now: datetime
) -> EstimateRevision | None:
    """Fill a draft in with its new answer; a plan that is refused now keeps the old answer, and says why."""
    if result.answer is None or result.plan is None:
        estimate.refusal = result.refusal
        return None
    old_total, price = estimate.total_mean, estimate.stale_price_id
    prices_before = [*estimate.prices_before, *(estimate.compared_before or ())]  # type: ignore[attr-defined]
    try:
        if estimate.lasting_ground == ground:
            answers.fill_priced(estimate, result.plan, result.answer)
        else:
            answers.fill(estimate, result.plan, result.answer, ground)
    except DomainError as refused:
        estimate.refusal = refused.message
        return None
    estimate.prices_on, estimate.computed_at = today, now
    estimate.stale_since, estimate.stale_price, estimate.refusal = None, None, ""
    if result.answer["price_keys"] != estimate.keys_before:  # type: ignore[attr-defined]
        _keep_price_keys(estimate)
    return EstimateRevision(
        estimate=estimate,
        at=now,
        why=_why(estimate, result.answer, price),
        price_id=price,
        old_total=old_total,
        new_total=estimate.total_mean,
        moved=answers.moved_prices(prices_before, answers.prices_of(result.answer)),
    )


def _why(estimate: Estimate, answer: answers.Answer, price: int | None) -> EstimateRevision.Why:
    """What made a draft wait."""
    if price:
        return EstimateRevision.Why.PRICE
    known = estimate.baselines_before or []  # type: ignore[attr-defined]
    return EstimateRevision.Why.BASELINE if answer["baselines"] != known else EstimateRevision.Why.CATALOGUE


# ---- prices


def add_price(
    *,
    by: User | None,
    kind: str,
    item: str,
    amount: Decimal | str,
    currency: str,
    valid_from: date | str,
    provider: str = "",
    region: str = "",
    mode: str = "",
    source: str = "",
    verified: bool = False,
    withdrawn: bool = False,
    reason: str = "",
    note: str = "",
    now: datetime | None = None,
) -> Price:
    """Add one price row, and mark the drafts that asked for this offer stale. `by=None` is the product itself."""
    facts = read_price(
        {
            "kind": kind,
            "item": item,
            "provider": provider,
            "region": region,
            "mode": mode,
            "amount": str(amount),
            "currency": currency,
            "valid_from": str(valid_from),
            "source": source,
            "verification": Verification.VERIFIED if verified else Verification.EXAMPLE,
            "withdrawn": "yes" if withdrawn else "no",
            "reason": reason,
            "note": note,
        }
    )
    added = add_prices([facts], by=by, now=now)
    if not added:
        raise DomainError(_("This price is already in the list; nothing changes."), code="unchanged")
    return added[0]


@transaction.atomic
def add_prices(rows: Sequence[PriceFacts], *, by: User | None, now: datetime | None = None) -> list[Price]:
    """Add the rows that change something, all or none, and mark the drafts they touch stale."""
    lock_prices()
    if by is not None and not permissions.may_keep_prices(by):
        raise NotAllowed(_("Prices are kept by price keepers."))
    known = queries.with_known_items(rows)
    changes = [change for change in queries.price_changes(known) if change.kind != "unchanged"]
    faults = [fault for change in changes if (fault := queries.missing_reason(change))]
    if faults:
        raise DomainError(_("A correction needs a reason."), code="price_refused", faults=faults)
    added = [Price.objects.create(by=by, **_columns(change.facts)) for change in changes]
    _mark_stale(added, now=now or timezone.now())
    if len(added) == 1:
        activity.record("price.added", by=by, subject=added[0], **_told(added[0]))
    elif added:
        activity.record("prices.imported", by=by, rows=len(added), first=added[0].pk, last=added[-1].pk)
    return added


@transaction.atomic
def save_accelerator(accelerator: Accelerator, *, by: User, now: datetime | None = None) -> Accelerator:
    """Add an accelerator to the catalogue, or correct one; drafts that are planned on it wait for recomputation."""
    lock_prices()
    if not permissions.may_keep_prices(by):
        raise NotAllowed(_("The catalogue is kept by price keepers."))
    verb = "accelerator.changed" if accelerator.pk else "accelerator.added"
    accelerator.full_clean()
    accelerator.save()
    planned = Q(plan__compute__accelerator__in=[accelerator.slug, *accelerator.aliases])
    Estimate.objects.drafts().filter(planned).update(
        stale_since=Coalesce("stale_since", Value(now or timezone.now())), stale_price=None, refusal=""
    )
    activity.record(verb, by=by, subject=accelerator, name=accelerator.name)
    return accelerator


@transaction.atomic
def load_catalogue(*, now: datetime | None = None) -> dict[str, int]:
    """Add what the shipped catalogue has and the database lacks; what people entered or changed stays as it is."""
    accelerators = [Accelerator(**columns) for columns in shipped_accelerators()]
    known = set(Accelerator.objects.values_list("slug", flat=True))
    missing = [accelerator for accelerator in accelerators if accelerator.slug not in known]
    Accelerator.objects.bulk_create(missing)
    kept = set(Price.objects.values_list(*OFFER, "valid_from"))
    added = add_prices(
        [facts for facts in shipped_prices() if (*facts.offer, facts.valid_from) not in kept], by=None, now=now
    )
    return {"accelerators": len(missing), "prices": len(added)}


def import_prices(content: bytes, *, by: User | None, now: datetime | None = None) -> list[Price]:
    """Add the rows of a CSV or XLSX file that change something; with one fault in it, nothing is added."""
    preview = queries.preview_import(content)
    if preview.faults:
        raise DomainError(
            _("The file was refused; nothing was changed."), code="price_file_refused", faults=list(preview.faults)
        )
    return add_prices(preview.new_rows, by=by, now=now)


def _mark_stale(prices: Sequence[Price], *, now: datetime) -> None:
    """The drafts that asked for these offers wait for recomputation; each remembers the price that made it wait."""
    for price in prices:
        queries.affected_drafts(queries.key_of(price)).update(
            stale_since=Coalesce("stale_since", Value(now)), stale_price=price, refusal=""
        )


def _columns(facts: PriceFacts) -> dict[str, Any]:
    columns = asdict(facts)
    columns["verification"] = Verification.VERIFIED if columns.pop("verified") else Verification.EXAMPLE
    return {**columns, "unit": facts.unit}


def _told(price: Price) -> dict[str, Any]:
    return {
        "item": price.item,
        "provider": price.provider,
        "mode": price.mode,
        "amount": price.amount,
        "currency": price.currency,
        "unit": price.unit,
        "valid_from": price.valid_from,
        "withdrawn": price.withdrawn,
        "reason": price.reason,
    }
