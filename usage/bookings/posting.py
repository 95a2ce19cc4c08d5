"""Bookings become usage: each one record of the source "booked by hand", placed straight on its project.

Everything of one delivery is written in the transaction of whoever calls, as the swap of a file's import does it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from core.months import Month, midnight
from teams.models import Organisation, User

from .. import messages
from ..allocation import BEGINNING
from ..formats.contract import Keys, digest_of
from ..models import Booking, Import, KeySet, Meaning, Money, Placement, Record, Scope, Source
from ..pipeline import files, keysets, outcome
from ..pipeline.placement import FIRST_DAY, LAST_DAY
from ..pipeline.rollup import Sums, add_sums, rebuild_touched, touch_records
from ..pipeline.swap import UnreconciledError, known_now
from ..sources import BY_HAND

SLUG = "booked-by-hand"


def manual_source() -> Source:
    """The one source of bookings; made with the first of them."""
    found = Source.objects.filter(format=BY_HAND).order_by("pk").first()
    return (
        found
        or Source.objects.get_or_create(
            slug=SLUG,
            defaults={"name": _("Booked by hand"), "format": BY_HAND, "money": Money.OWN, "meaning": Meaning.APPEND},
        )[0]
    )


def post(
    bookings: Sequence[Booking], source: Source, *, by: User | None, name: str, content: bytes, now: datetime
) -> Import:
    """Write the bookings and their records, roll them up, and leave word for the judge of budget lines.

    Call it in a transaction that holds the lock of the source. `content` is kept as the original.
    """
    delivery = _deliver(source, len(bookings), by=by, name=name, content=content, now=now)
    for booking in bookings:
        booking.delivery, booking.booked_by, booking.booked_at = delivery, by, now
    Booking.objects.bulk_create(bookings)
    key_sets = _key_sets(source, bookings)
    scopes = _scopes(source, bookings, delivery)
    zone = Organisation.current().zone
    Record.objects.bulk_create(
        Record(
            scope_id=scopes[Month.of(booking.starts_on)],
            key_set_id=key_sets[digest_of(keys_of(booking).as_dict())],
            known_from=delivery,
            text_print=booking.content,
            row_print=booking.content,
            row_key=hashlib.blake2b(f"{source.pk} {booking.pk}".encode(), digest_size=16).hexdigest(),
            line=booking.line,
            usage_start=midnight(booking.starts_on, zone),
            usage_end=midnight(booking.ends_on, zone),
            billing_month=Month.of(booking.starts_on).start,
            currency=booking.currency,
            billed=booking.amount,
            effective=booking.amount,
            quantity=booking.quantity,
            extra={"booking": booking.pk},
        )
        for booking in bookings
    )
    touch_records(
        "SELECT key_set_id, usage_start, usage_end FROM usage_record WHERE known_from_id = %(import)s",
        {"import": delivery.pk},
    )
    _reconcile(rebuild_touched(), bookings)
    _tell(delivery, [scope.key for scope in Scope.objects.filter(pk__in=scopes.values()).order_by("key")])
    messages.tell_of_restatement(delivery)
    return delivery


def _deliver(source: Source, rows: int, *, by: User | None, name: str, content: bytes, now: datetime) -> Import:
    kept = files.keep([content])
    moment = known_now()
    return Import.objects.create(
        source=source,
        name=name[-255:],
        sha256=kept.sha256,
        content_sha256=kept.sha256,
        size=kept.size,
        format=BY_HAND,
        meaning=Meaning.APPEND,
        status=Import.Status.LIVE,
        received_at=now,
        received_by=by,
        started_at=moment,
        finished_at=moment,
        live_at=moment,
        bytes_read=kept.size,
        rows_read=rows,
    )


def keys_of(booking: Booking) -> Keys:
    """What the record of a booking is known by."""
    project = booking.project
    said = {"project": project.slug, "task_type": booking.task_type, "stage": booking.stage}
    return Keys(
        account=project.slug,
        service=str(booking.kind),
        sku=booking.item,
        unit=booking.unit,
        resource=booking.document,
        resource_type="booking",
        category=booking.category,
        reference=booking.reference,
        tags={name: text for name, text in said.items() if text},
        extra={"project_id": str(project.pk)},
    )


def _key_sets(source: Source, bookings: Sequence[Booking]) -> dict[str, int]:
    """The key sets by digest, stored and placed where that was not done yet."""
    by_digest = {digest_of(keys.as_dict()): (keys, booking) for booking in bookings for keys in [keys_of(booking)]}
    ids = keysets.store(source.pk, {digest: keys for digest, (keys, _booking) in by_digest.items()})
    placed = set(Placement.objects.filter(key_set__in=ids.values()).values_list("key_set", flat=True))
    Placement.objects.bulk_create(
        Placement(
            key_set=KeySet(pk=ids[digest]),
            starts_on=FIRST_DAY,
            ends_on=LAST_DAY,
            project=booking.project,
            category=booking.category,
            task_type=booking.task_type or booking.project.task_type,
            stage=booking.stage,
            reference=booking.reference,
            known_from=BEGINNING,
        )
        for digest, (_keys, booking) in by_digest.items()
        if ids[digest] not in placed
    )
    return ids


def _scopes(source: Source, bookings: Sequence[Booking], delivery: Import) -> dict[Month, int]:
    """One scope for every month in which something is booked."""
    found = {}
    for month in sorted({Month.of(booking.starts_on) for booking in bookings}):
        scope, _made = Scope.objects.get_or_create(source=source, key=str(month), defaults={"month": month.start})
        Scope.objects.filter(pk=scope.pk).update(live=delivery, issued_at=delivery.received_at)
        found[month] = scope.pk
    return found


def _reconcile(moved: Sums, bookings: Sequence[Booking]) -> None:
    """The rollup must have moved by exactly what was booked."""
    wanted: Sums = {}
    for booking in bookings:
        add_sums(wanted, booking.currency, [booking.amount, booking.amount], 1)
    if _moving(moved) != _moving(wanted):
        raise UnreconciledError(f"stored {moved}, booked {wanted}")


def _moving(sums: Sums) -> dict[str, list[Decimal]]:
    return {currency: amounts for currency, amounts in sums.items() if any(amounts)}


def _tell(delivery: Import, scopes: list[str]) -> None:
    """What the import's page says. Not until when usage is known: a booking says nothing of the days after it."""
    summed = outcome.summed(outcome.figures_of_import(delivery.pk))
    told: dict[str, Any] = {name: value for name, value in summed.items() if name not in ("first_usage", "last_usage")}
    rows = dict.fromkeys(("rows_read", "rows_accepted", "rows_written"), delivery.rows_read)
    delivery.outcome = {**outcome.EMPTY, **told, **rows, "scopes": scopes}
    delivery.save(update_fields=["outcome"])
