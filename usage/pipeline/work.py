"""One import from its claim to its end. Whatever happens, the old picture stays until the new one is whole."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError

from .. import messages, periods
from ..clusters.register import with_register
from ..delivery import Settings, read_settings
from ..formats.detection import format_named
from ..models import Import, Meaning, Money, RejectedRow, Scope, Source
from ..reading.faults import FileRefused
from ..reading.notes import Notes
from ..reading.unpack import Delivery
from . import files, outcome
from .keysets import KeySets, Scopes
from .parse import Pass, Reading, RestartError, read_delivery
from .rate_card import RateCard
from .seen import LiveRows, live_rows
from .staging import Staging
from .swap import HeldError, OutdatedError, Swap, Swapper, UnreconciledError, known_now, lock_source

LEASE = timedelta(seconds=60)
LOCK_OF_IMPORTS = 724_002
MANY_ROWS = 50_000


class CancelledError(Exception):
    """A person asked for the import to stop."""


def hold_import(import_id: int) -> bool:
    """Take the lock that only a living worker holds on an import; it ends with the connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_OF_IMPORTS, import_id])
        return cursor.fetchone()[0]


def let_go(import_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK_OF_IMPORTS, import_id])


class Work:
    """Runs one claimed import."""

    def __init__(self, delivery: Import) -> None:
        self._delivery = delivery
        self._source = delivery.source
        self._notes = Notes()
        self._staging = Staging(delivery.pk)
        self._reading: Reading | None = None
        self._rates: RateCard | None = None
        self._scopes = Scopes(self._source)

    def run(self) -> None:
        """To the end: live, unchanged, stored, waiting, refused or cancelled. Only a broken machine raises."""
        try:
            with self._staging.let_go_on_failure():
                self._run()
        except FileRefused as refusal:
            self._end(Import.Status.REFUSED, errors=faults_of(refusal))
        except UnreconciledError as error:
            message = _("The sums of the file and of what was stored differ; nothing was kept.")
            self._end(Import.Status.REFUSED, errors=[fault_of(str(error), message)])
        except DomainError as refusal:
            self._end(Import.Status.REFUSED, errors=faults_of(refusal))
        except HeldError as held:
            changes = [change.as_texts() for change in held.changes]
            self._end(Import.Status.WAITING, held=held.reasons, held_changes=changes)
        except CancelledError:
            RejectedRow.objects.filter(delivery=self._delivery).delete()
            self._end(Import.Status.CANCELLED)
        finally:
            self._staging.drop()

    def _run(self) -> None:
        RejectedRow.objects.filter(delivery=self._delivery).delete()
        settings = self._settings()
        file = Delivery(files.path_of(self._delivery.sha256))
        if (twin := self._same_bytes(settings)) is not None:
            self._end_as_twin(twin, settings)
            return
        fast, pad = True, True
        while True:
            try:
                self._read_and_swap(settings, file, fast=fast, pad=pad)
                return
            except RestartError:
                pad = False
            except OutdatedError:
                fast = False
            self._staging.abandon()
            RejectedRow.objects.filter(delivery=self._delivery).delete()
            self._notes, self._reading = Notes(), None

    def _settings(self) -> Settings:
        settings = read_settings({**self._source.settings, **self._delivery.settings})
        settings = with_register(settings, self._source)
        self._delivery.issued_at = settings.issued_at
        if (settings.money or self._source.money) == Money.RATE_CARD:
            self._rates = RateCard(settings, self._notes)
        self._delivery.reading = reading_digest(settings, self._rates)
        return settings

    def _same_bytes(self, settings: Settings) -> Import | None:
        """An earlier delivery of the very same bytes, read the same way, that was taken."""
        if self._delivery.confirmed_at:
            return None
        return (
            self._source.imports.filter(
                sha256=self._delivery.sha256,
                reading=self._delivery.reading,
                status__in=[Import.Status.LIVE, Import.Status.UNCHANGED],
                meaning=settings.meaning or self._source.meaning,
            )
            .exclude(pk=self._delivery.pk)
            .order_by("-id")
            .first()
        )

    def _end_as_twin(self, twin: Import, settings: Settings) -> None:
        """Nothing to do for what is live; an older delivery comes back only with a newer issue time."""
        keys = twin.outcome.get("scopes", [])
        with transaction.atomic():
            lock_source(self._source.pk)
            scopes = list(Scope.objects.select_for_update().filter(source=self._source, key__in=keys).order_by("pk"))
            superseded = [scope for scope in scopes if scope.live and scope.live.sha256 != self._delivery.sha256]
            if twin.meaning == Meaning.STATEMENT and superseded and settings.issued_at:
                again = True
            else:
                again = False
                for scope in scopes:
                    if settings.final and scope.month and scope not in superseded:
                        periods.delivered(scope, self._delivery, changed=False, is_final=True)
                    if (
                        scope not in superseded
                        and settings.issued_at
                        and (scope.issued_at is None or scope.issued_at < settings.issued_at)
                    ):
                        scope.issued_at = settings.issued_at
                        scope.save(update_fields=["issued_at"])
        if again:
            self._read_and_swap(settings, Delivery(files.path_of(self._delivery.sha256)), fast=False, pad=True)
            return
        if superseded and twin.meaning == Meaning.STATEMENT:
            self._notes.warn("older", detail=", ".join(scope.key for scope in superseded)[:200])
        self._delivery.format, self._delivery.meaning = twin.format, twin.meaning
        accepted = twin.outcome.get("rows_accepted", 0)
        kept = {**twin.outcome, "rows_written": 0, "rows_closed": 0, "rows_unchanged": accepted, "same_as": twin.pk}
        warnings = {**twin.outcome.get("warnings", {}), **self._notes.counts}
        self._end(Import.Status.UNCHANGED, **{**kept, "warnings": warnings})

    def _read_and_swap(self, settings: Settings, file: Delivery, *, fast: bool, pad: bool) -> None:
        changes_before = self._source.changes
        self._phase("reading")
        live = self._live(settings, fast)
        self._staging.create()
        context = Pass(
            delivery=self._delivery,
            source=self._source,
            settings=settings,
            staging=self._staging,
            key_sets=KeySets(self._source),
            scopes=self._scopes,
            notes=self._notes,
            live=live,
            tell=self._tell,
            pad_short_rows=pad,
        )
        wanted = settings.format or self._source.format
        try:
            read_delivery(context, file, wanted)
        finally:
            self._found(context.reading)
        self._rates = context.rates
        self._delivery.reading = reading_digest(settings, context.rates)
        self._delivery.meaning = context.meaning
        self._delivery.content_sha256 = file.digest.hexdigest()
        if settings.single_scope and len(self._scopes) > 1:
            message = _("The file holds %(count)s scopes, and this source allows one.")
            raise FileRefused(message % {"count": len(self._scopes)})
        if live is not None:
            self._staging.write_unclaimed(live.unclaimed())
        self._staging.analyze()
        self._phase("comparing", **self._all_read())
        self._swap(settings, live, changes_before)

    def _found(self, reading: Reading | None) -> None:
        """What was read counts in the answer, also of a file that is refused."""
        self._reading = reading
        if reading is not None:
            self._delivery.format, self._delivery.format_reason = reading.format.slug, reading.reason

    def _live(self, settings: Settings, fast: bool) -> LiveRows | None:
        """Fingerprints of what is live, where a statement may be delivered again and its rows do not hang on prices."""
        if self._rates is not None:
            return None
        same_reader = self._source.imports.filter(reading=self._delivery.reading, live_at__isnull=False).exists()
        meaning = settings.meaning or self._source.meaning
        newer = self._source.scopes.filter(issued_at__gt=self._delivery.ordered_by).exists()
        if not fast or not same_reader or newer or meaning != Meaning.STATEMENT:
            return None
        wanted = settings.format or self._source.format
        if wanted and format_named(wanted).whole_file:
            return None
        return live_rows(self._source)

    def _swap(self, settings: Settings, live: LiveRows | None, changes_before: int) -> None:
        delivery = self._delivery
        with transaction.atomic():
            lock_source(self._source.pk)
            self._source = Source.objects.select_for_update(no_key=True).get(pk=self._source.pk)
            if live is not None and self._source.changes != changes_before:
                raise OutdatedError
            row = Import.objects.select_for_update(no_key=True).get(pk=delivery.pk)
            if row.cancel_requested or row.status != Import.Status.RUNNING:
                raise CancelledError
            if delivery.meaning == Meaning.APPEND and self._appended_before():
                self._end(Import.Status.UNCHANGED, **self._figures(None, Swap(), []))
                return
            swapper = Swapper(
                delivery,
                self._source,
                settings,
                self._staging,
                meaning=delivery.meaning,
                claimed=live.claimed_by_scope() if live is not None else None,
            )
            swap = swapper.run(self._emptied(settings))
            if swap.changed:
                delivery.live_at = known_now()
            self._settle_source(self._reading)
            if swap.older:
                self._notes.warn("older", detail=", ".join(scope.key for scope in swap.older)[:200])
            status = Import.Status.LIVE if swap.changed else Import.Status.UNCHANGED
            if swap.older and not swap.scopes:
                status = Import.Status.STORED
            figures = self._figures(live, swap, swap.scopes + swap.older)
            self._end(status, **figures)
            if swap.closed or swap.written:
                messages.tell_of_restatement(delivery)
        if swap.written + swap.closed > MANY_ROWS:
            refresh_statistics()

    def _settle_source(self, reading: Reading | None) -> None:
        """What the first delivery showed about the source is kept for the next."""
        found = {"format": self._delivery.format, "meaning": self._delivery.meaning}
        if reading is not None:
            found["money"] = reading.format.money
        missing = {name: value for name, value in found.items() if not getattr(self._source, name)}
        if missing:
            Source.objects.filter(pk=self._source.pk).update(**missing)

    def _appended_before(self) -> bool:
        """Rows of an append add once per file, however it was packed."""
        return (
            self._source.imports.filter(
                content_sha256=self._delivery.content_sha256, meaning=Meaning.APPEND, live_at__isnull=False
            )
            .exclude(pk=self._delivery.pk)
            .exists()
        )

    def _emptied(self, settings: Settings) -> list[Scope]:
        """Scopes that a delivery without a row says are empty: those of the billing period it is for."""
        reading = self._reading
        if reading is None or reading.read or self._delivery.meaning != Meaning.STATEMENT:
            return []
        scopes = self._source.scopes.filter(live__isnull=False)
        if settings.billing_period:
            return list(scopes.filter(month=settings.billing_period.start))
        if scopes.exists() and not self._delivery.confirmed_at:
            raise HeldError([_("The delivery holds no row, and does not say for which billing period.")])
        return []

    def _figures(self, live: LiveRows | None, swap: Swap, scopes: list[Scope]) -> dict[str, Any]:
        if live is not None:
            figures = outcome.figures_of_scopes([scope.pk for scope in swap.scopes])
        elif self._delivery.meaning == Meaning.LOG:
            figures = outcome.figures_of_log(self._staging)
        else:
            figures = outcome.figures_of_staging(self._staging)
        if self._delivery.format == "focus" and outcome.is_effective_far_from_billed(figures):
            self._notes.warn_once("effective_far_from_billed")
        sums = outcome.summed(figures)
        sums |= {name: moment.isoformat() for name in ("first_usage", "last_usage") if (moment := sums[name])}
        return {
            **outcome.counts(self._reading, swap),
            **sums,
            "scopes": sorted(scope.key for scope in scopes) or sorted(key.text for key in self._scopes),
            **(self._rates.told if self._rates else {}),
        }

    def _end(self, status: str, **kept: Any) -> None:
        """Write the last state of the import."""
        delivery = self._delivery
        if status in (Import.Status.REFUSED, Import.Status.WAITING, Import.Status.CANCELLED):
            kept = {**outcome.counts(self._reading, None), **kept}
        delivery.outcome = {**outcome.noted(self._notes), **kept}
        delivery.status = status
        delivery.phase = ""
        delivery.finished_at = timezone.now()
        delivery.lease_until = None
        if self._reading:
            delivery.rows_read, delivery.rows_rejected = self._reading.read, self._reading.rejected
            delivery.bytes_read = delivery.size
        delivery.save()

    def _phase(self, phase: str, **progress: Any) -> None:
        self._delivery.phase = phase
        self._beat(phase=phase, **progress)

    def _all_read(self) -> dict[str, int]:
        """The progress of a reading that is through."""
        read, rejected = (self._reading.read, self._reading.rejected) if self._reading else (0, 0)
        return {"bytes_read": self._delivery.size, "rows_read": read, "rows_rejected": rejected}

    def _tell(self, position: int, reading: Reading) -> None:
        self._beat(bytes_read=position, rows_read=reading.read, rows_rejected=reading.rejected)

    def _beat(self, **progress: Any) -> None:
        """Prolong the lease and show how far the import is; stop when a person asked for it."""
        running = Import.objects.filter(pk=self._delivery.pk, status=Import.Status.RUNNING)
        if not running.update(lease_until=timezone.now() + LEASE, **progress):
            raise CancelledError
        if running.filter(cancel_requested=True).exists():
            raise CancelledError


def refresh_statistics() -> None:
    """Tell the planner of a big change at once, not when it next looks."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE usage_record, usage_keyset, usage_meter, usage_placement, usage_dailyusage")


def reading_digest(settings: Settings, rates: RateCard | None) -> str:
    """What the reading of a file depends on: its settings, and the prices where a price table is the money."""
    digest = settings.digest_of_reading()
    return digest.hex() if rates is None else hashlib.blake2b(digest + rates.digest, digest_size=16).hexdigest()


def fault_of(value: str | None, reason: str, column: str = "") -> dict[str, Any]:
    """One error of the contract that stands on no line."""
    return {"line": None, "column": column, "value": value, "reason": reason}


def faults_of(refusal: DomainError) -> list[dict[str, Any]]:
    """A refusal as the errors of the contract."""
    if not refusal.faults:
        return [fault_of(None, refusal.message)]
    return [fault_of(fault.value, fault.message or refusal.message, fault.path) for fault in refusal.faults]
