"""Rejected rows mended: the original with the mended records in place of the bad ones, delivered again."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, permissions
from teams.models import User

from . import services
from .delivery import read_settings
from .focus_export import Line, guarded
from .formats import detection
from .models import Import, Meaning, RejectedRow
from .pipeline import files
from .pipeline.parse import TEXT_KEPT
from .reading.table import Table
from .reading.unpack import Delivery

MOST_IN_A_FORM = 100
BATCH = 1_000


def mendable(delivery: Import) -> bool:
    """Whether single rows of a delivery can be mended: it was read, and some were rejected."""
    return delivery.status != Import.Status.RUNNING and RejectedRow.objects.filter(delivery=delivery).exists()


def correct_import(
    original: Import,
    mended: Mapping[int, str],
    *,
    by: User,
    idempotency_key: str = "",
    now: datetime | None = None,
) -> Import:
    """Deliver an import again with mended records, by line. It is read like any other: nothing is patched in place.

    Where a delivery replaces what was there, or its rows have keys, it is the whole file; where rows only add, it is
    the mended rows alone.
    """
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account delivers usage."))
    changed = _changed(original, mended)
    with tempfile.TemporaryFile() as file:
        _write(original, changed, file)
        file.seek(0)
        with transaction.atomic():
            given = {name: value for name, value in original.settings.items() if name != "format"}
            delivery = services.receive_file(
                source=original.source,
                by=by,
                name=original.name,
                stream=file,
                format=original.settings.get("format", "") or original.format,
                settings=given,
                idempotency_key=idempotency_key,
                now=now,
            )
            if delivery.corrects_id:
                return delivery
            delivery.corrects = original
            delivery.save(update_fields=["corrects"])
            activity.record(
                "import.corrected", by=by, subject=delivery, source=original.source.slug, count=len(changed)
            )
    return delivery


def _changed(original: Import, mended: Mapping[int, str]) -> dict[int, str]:
    """The records that are not as they were; each must be a rejected row that is kept whole."""
    kept = dict(RejectedRow.objects.filter(delivery=original, line__in=mended).values_list("line", "text"))
    faults = [Fault(f"line {line}", None, _("was not rejected")) for line in mended if line not in kept]
    faults += [
        Fault(f"line {line}", None, _("is too long to be mended here"))
        for line, text in kept.items()
        if len(text) >= TEXT_KEPT
    ]
    if faults:
        raise DomainError(_("These rows cannot be mended."), faults=faults)
    changed = {line: text.strip("\r\n") for line, text in mended.items() if text.strip() != kept[line].strip()}
    if not changed:
        raise DomainError(_("No row was changed."), faults=[Fault("rows", None, _("change at least one"))])
    return changed


def _write(original: Import, changed: Mapping[int, str], file: IO[bytes]) -> None:
    own = {name: value for name, value in original.settings.items() if name != "format"}
    settings = read_settings({**original.source.settings, **own})
    adds = original.meaning == Meaning.APPEND
    for number, (name, stream, unpacked) in enumerate(Delivery(files.path_of(original.sha256)).parts()):
        if number:
            raise DomainError(_("The delivery is an archive of several files. Mend them and deliver it again."))
        with stream:
            found = detection.detect(stream, name, settings, original.format)
            if found.format.records is not None or unpacked.is_own_text:
                raise DomainError(_("Rows of this format cannot be mended one by one. Mend the file and deliver it."))
            table = Table(stream, delimiter=found.delimiter, encoding=settings.encoding)
            file.write(table.raw_header.rstrip(b"\r\n") + b"\n")
            for batch in table.batches(BATCH):
                for line, record in zip(batch.lines, batch.records, strict=True):
                    if line in changed:
                        file.write(changed[line].encode(settings.encoding) + b"\n")
                    elif not adds:
                        file.write(record.rstrip(b"\r\n") + b"\n")


def rejected_lines(delivery: Import) -> Iterator[str]:
    """The quarantine of a delivery as CSV: every rejected row with its line, column, value, reason and text."""
    writer = csv.writer(Line())
    yield writer.writerow(["line", "column", "value", "reason", "record"])
    for row in RejectedRow.objects.filter(delivery=delivery).iterator():
        yield writer.writerow([row.line, *(guarded(text) for text in (row.column, row.value, row.reason, row.text))])


def mended_rows(text: str) -> dict[int, str]:
    """Line and record of a downloaded list of rejected rows, after somebody mended its last column."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    if not {"line", "record"} <= set(reader.fieldnames or ()):
        raise DomainError(
            _("The list of rejected rows has the columns line and record."),
            faults=[Fault("file", None, _("has other columns"), "line, column, value, reason, record")],
        )
    found: dict[int, str] = {}
    for row in reader:
        number = (row["line"] or "").strip()
        if not (number.isascii() and number.isdigit()):
            raise DomainError(_("A line is no number."), faults=[Fault("line", number, _("is no number"))])
        record = row["record"] or ""
        found[int(number)] = record[1:] if record[:1] == "'" and record[1:2] in ("=", "+", "-", "@") else record
    return found
