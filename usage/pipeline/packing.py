"""Several files that are the parts of one delivery, in one archive: the same bytes whenever the parts are the same."""

from __future__ import annotations

import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault

from . import files

BLOCK = 1 << 20
FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""Of every member: when parts were packed is no part of what they are."""
NamedFile = tuple[str, IO[bytes]]


def pack(parts: Iterable[tuple[str, Iterable[bytes]]], into: IO[bytes]) -> None:
    """Write parts, each by its name and its blocks, into an archive."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_STORED) as archive:
        for name, blocks in parts:
            with archive.open(zipfile.ZipInfo(name, FIRST_DAY), "w", force_zip64=True) as target:
                for block in blocks:
                    target.write(block)


@contextmanager
def as_one(parts: Sequence[NamedFile]) -> Iterator[NamedFile]:
    """One file as it is; several as an archive of them, by their names."""
    if len(parts) == 1:
        yield parts[0]
        return
    named = sorted(((PurePath(name).name, stream) for name, stream in parts), key=lambda part: part[0])
    twice = [name for name, count in Counter(name for name, _stream in named).items() if count > 1]
    if twice:
        message = _("Two of the files have one name: what they hold would count twice.")
        raise DomainError(message, faults=[Fault("file", twice[0], message)])
    with tempfile.TemporaryFile(dir=files.ready_folder()) as packed:
        pack(((name, iter(lambda: stream.read(BLOCK), b"")) for name, stream in named), packed)  # noqa: B023
        packed.seek(0)
        yield _("%(first)s and %(more)s more") % {"first": named[0][0], "more": len(named) - 1}, packed
