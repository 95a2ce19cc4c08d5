"""Changes to usage: deliveries received, run, confirmed, cancelled; sources opened; rules written and applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import IO, Any

from django.db import OperationalError, connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.months import Month
from teams import activity, permissions
from teams.models import User

from .delivery import OF_THE_DELIVERY, OF_THE_SOURCE, read_settings
from .formats.detection import format_named
from .models import Import, Meaning, Scope, Source
from .pipeline import files, outcome
from .pipeline.packing import NamedFile, as_one
from .pipeline.work import LEASE, Work, hold_import, let_go
from .rules import split_again
from .sources import BY_HAND

EMPTY_ANSWER: dict[str, Any] = {"import": None, "format": "", **outcome.EMPTY}
MOST_ATTEMPTS = 5
BLOCK = 1 << 20


@transaction.atomic
def open_source(
    *,
    by: User | None,
    slug: str,
    name: str = "",
    format: str = "",
    settings: Mapping[str, Any] | None = None,
) -> Source:
    """Make a source. `meaning`, `money` and `part_of` among the settings become its own columns."""
    if by is not None and not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account opens sources."))
    given = {key: value for key, value in (settings or {}).items() if key not in OF_THE_DELIVERY}
    checked = read_settings(given)
    if format:
        format_named(format)
    if slug != slugify(slug):
        raise DomainError(
            _("A source needs a short name."), faults=[Fault("source", slug, _("is no short name"), "aws-main")]
        )
    if Source.objects.filter(slug=slug).exists():
        raise DomainError(_("There is a source %(slug)s already.") % {"slug": slug})
    source = Source.objects.create(
        slug=slug,
        name=name or slug,
        format=format,
        meaning=checked.meaning,
        money=checked.money,
        part_of=source_named(checked.part_of) if checked.part_of else None,
        settings={key: value for key, value in given.items() if key not in OF_THE_SOURCE},
        created_by=by,
    )
    activity.record("source.opened", by=by, subject=source, slug=slug, format=format)
    return source


def source_named(slug: str) -> Source:
    """The source of a short name, or a refusal that says how to make it."""
    found = Source.objects.filter(slug=slug).first()
    if found is None:
        raise DomainError(
            _("There is no source %(slug)s. Make it first (--create).") % {"slug": slug},
            code="no_source",
            faults=[Fault("source", slug, _("is no source"), ", ".join(Source.objects.values_list("slug", flat=True)))],
        )
    return found


def receive_file(
    *,
    source: Source,
    by: User | None,
    name: str,
    stream: IO[bytes],
    format: str = "",
    settings: Mapping[str, Any] | None = None,
    idempotency_key: str = "",
    now: datetime | None = None,
) -> Import:
    """Keep a delivered file and queue its import. The same idempotency key answers with the same import."""
    if by is not None and not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account delivers usage."))
    if source.format == BY_HAND:
        raise DomainError(
            _("This source holds what people book. Book a file on the page Bookings, or with book_costs.")
        )
    given = dict(settings or {})
    read_settings({**source.settings, **given})
    if format:
        format_named(format)
        given["format"] = format
    if idempotency_key and (known := source.imports.filter(idempotency_key=idempotency_key).first()):
        return known
    kept = files.keep(iter(lambda: stream.read(BLOCK), b""))
    return queue_kept(
        source=source, by=by, name=name, kept=kept, settings=given, idempotency_key=idempotency_key, now=now
    )


def receive_files(*, source: Source, by: User | None, parts: Sequence[NamedFile], **given: Any) -> Import:
    """As `receive_file`, of one file or of several that are the parts of one delivery: one import of them all."""
    with as_one(parts) as (name, stream):
        return receive_file(source=source, by=by, name=name, stream=stream, **given)


@transaction.atomic
def queue_kept(
    *,
    source: Source,
    by: User | None,
    name: str,
    kept: files.KeptFile,
    settings: Mapping[str, Any] | None = None,
    idempotency_key: str = "",
    now: datetime | None = None,
) -> Import:
    """Queue the import of a file that is kept. The same idempotency key answers with the same import."""
    delivery = Import(
        source=source,
        name=name[-255:],
        sha256=kept.sha256,
        size=kept.size,
        settings=dict(settings or {}),
        idempotency_key=idempotency_key,
        received_at=now or timezone.now(),
        received_by=by,
    )
    if not Import.objects.bulk_create([delivery], ignore_conflicts=bool(idempotency_key))[0].pk:
        return source.imports.get(idempotency_key=idempotency_key)
    activity.record("import.received", by=by, subject=delivery, source=source.slug, name=name, bytes=kept.size)
    return delivery


def claim_import(import_id: int, *, now: datetime) -> Import | None:
    """Take an import to run it: one that is queued, or whose worker has not been heard of. None: somebody has it.

    The caller must end with `let_go`; a worker that dies lets go by dying.
    """
    if not hold_import(import_id):
        return None
    with transaction.atomic():
        free = Q(status=Import.Status.QUEUED) | Q(status=Import.Status.RUNNING, lease_until__lte=now)
        delivery = Import.objects.select_for_update(of=["self"]).filter(free, pk=import_id).first()
        if delivery is not None:
            delivery.status = Import.Status.RUNNING
            delivery.started_at = now
            delivery.lease_until = now + LEASE
            delivery.attempts += 1
            delivery.save(update_fields=["status", "started_at", "lease_until", "attempts"])
            delivery.source = Source.objects.get(pk=delivery.source_id)
            return delivery
    let_go(import_id)
    return None


def imports_to_take_up(now: datetime) -> list[int]:
    """Imports that wait for a worker, or whose worker's lease ran out."""
    waiting = Q(status=Import.Status.QUEUED) | Q(status=Import.Status.RUNNING, lease_until__lte=now)
    return list(Import.objects.filter(waiting).order_by("id").values_list("id", flat=True))


def run_import(import_id: int, *, now: datetime | None = None) -> dict[str, Any]:
    """Run an import to its end and answer in the shape of the contract. May run twice: the second does nothing."""
    delivery = claim_import(import_id, now=now or timezone.now())
    if delivery is not None:
        try:
            if delivery.attempts > MOST_ATTEMPTS:
                fail_import(delivery)
            else:
                Work(delivery).run()
                if delivery.source.part_of_id:
                    split_again([delivery.source.part_of_id])
        finally:
            let_go(import_id)
    return import_answer(import_id)


def import_answer(import_id: int) -> dict[str, Any]:
    """What became of an import, as `manage.py import_usage --json` says it."""
    return outcome.answer(Import.objects.select_related("source").get(pk=import_id))


def fail_import(delivery: Import) -> None:
    """Give up an import whose workers died again and again. The old picture stays."""
    message = _("The import was tried %(times)s times and each worker died.") % {"times": MOST_ATTEMPTS}
    delivery.status = Import.Status.FAILED
    delivery.finished_at = timezone.now()
    delivery.outcome = {"errors": [{"line": None, "column": "", "value": None, "reason": message}]}
    delivery.save()


@transaction.atomic
def cancel_import(delivery: Import, *, by: User) -> None:
    """Stop an import that has not ended. What is live stays as it is.

    While a worker writes, it holds the row to the end of its transaction: nobody waits for that.
    """
    try:
        row = Import.objects.select_for_update(of=["self"], nowait=True).get(pk=delivery.pk)
    except OperationalError:
        raise DomainError(_("The import is being written and can no longer be stopped."), code="wrong_state") from None
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account cancels imports."))
    if row.status == Import.Status.RUNNING:
        row.cancel_requested = True
    elif row.status in (Import.Status.QUEUED, Import.Status.WAITING):
        row.status = Import.Status.CANCELLED
        row.finished_at = timezone.now()
    else:
        raise DomainError(_("The import has ended; there is nothing to cancel."))
    row.save(update_fields=["status", "cancel_requested", "finished_at"])
    activity.record("import.cancelled", by=by, subject=row, source=row.source.slug)


@transaction.atomic
def confirm_import(delivery: Import, *, by: User, reason: str) -> Import:
    """Say yes to a delivery that waits: it is queued again, and applied whatever it lowers."""
    row = Import.objects.select_for_update(of=["self"]).get(pk=delivery.pk)
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account confirms imports."))
    if row.status != Import.Status.WAITING:
        raise DomainError(_("Only a delivery that waits for a person can be confirmed."))
    if not reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])
    row.status = Import.Status.QUEUED
    row.confirmed_by, row.confirmed_at = by, timezone.now()
    row.save(update_fields=["status", "confirmed_by", "confirmed_at"])
    activity.record("import.confirmed", by=by, subject=row, source=row.source.slug, reason=reason)
    return row


def superseded_scopes(delivery: Import) -> list[Scope]:
    """What a statement covers where another is live; empty where nothing can be made live."""
    taken = (Import.Status.STORED, Import.Status.UNCHANGED, Import.Status.LIVE)
    if delivery.status not in taken or delivery.meaning != Meaning.STATEMENT:
        return []
    scopes = Scope.objects.filter(source=delivery.source_id, key__in=delivery.outcome.get("scopes", []))
    return [
        scope
        for scope in scopes.select_related("live").order_by("key")
        if scope.live is not None and scope.live.sha256 != delivery.sha256
    ]


@transaction.atomic
def make_live(delivery: Import, *, by: User, reason: str, now: datetime | None = None) -> Import:
    """Deliver a statement again that another took the place of, as issued now. Answers the new import, queued.

    The old import stays as it was; what was believed in between stays known.
    """
    row = Import.objects.select_for_update(of=["self"]).get(pk=delivery.pk)
    if not permissions.may_make_live(by):
        raise NotAllowed(_("Only an operator makes an older delivery live."))
    if row.source.imports.open().filter(sha256=row.sha256).exists():
        raise DomainError(_("The same file is being imported; wait for its end."))
    if not superseded_scopes(row):
        raise DomainError(_("Nothing of this delivery was replaced by another; there is nothing to make live."))
    if not reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])
    at = now or timezone.now()
    again = Import.objects.create(
        source=row.source,
        name=row.name,
        sha256=row.sha256,
        size=row.size,
        settings={**row.settings, "issued_at": at.isoformat()},
        received_at=at,
        received_by=by,
        confirmed_by=by,
        confirmed_at=at,
    )
    activity.record("import.made_live", by=by, subject=again, source=row.source.slug, name=row.name, reason=reason)
    return again


def take_touched() -> list[tuple[int | None, str, Month]]:
    """Take away what imports and rules left for the judge: distinct projects, categories and months.

    Call it in the transaction that judges: if that fails, the rows are still there.
    """
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_touched RETURNING project_id, category, month")
        rows = set(cursor.fetchall())
    return sorted(
        ((project, category, Month.of(month)) for project, category, month in rows),
        key=lambda row: (row[0] or 0, row[1], row[2]),
    )


def drop_orphaned_staging(import_ids: Iterable[int] = ()) -> int:
    """Remove staging tables that no open import owns."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname FROM pg_class c WHERE c.relkind = 'r'
               AND c.relname ~ '^usage_(staged|unclaimed)_[0-9]+$'"""
        )
        names = [row[0] for row in cursor.fetchall()]
        kept = set(import_ids) | set(Import.objects.open().values_list("id", flat=True))
        orphans = [name for name in names if int(name.rpartition("_")[2]) not in kept]
        for name in orphans:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
    return len(orphans)
