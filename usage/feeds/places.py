"""What every place has in common: files as they are seen there, and paths that stay below the root."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import IO, Protocol

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault

MOST_FILES = 10_000
LONGEST_NAME = 1024


@dataclass(frozen=True)
class Found:
    """A file as a look found it. The tag changes whenever the file does."""

    name: str
    size: int
    tag: str
    modified: datetime


@dataclass(frozen=True)
class Listing:
    """What a look found: files that may be read, and names that may not with the reason."""

    files: list[Found]
    refused: dict[str, str]


class ChangedError(Exception):
    """The file is no longer the one that was seen."""


class ClosedError(Exception):
    """The file may not be read; the text says why."""


class Place(Protocol):
    """A folder or a prefix below the configured root."""

    appears_whole: bool
    """Whether a file that can be seen is always complete."""

    def look(self) -> Listing: ...

    def open(self, file: Found) -> IO[bytes]:
        """The bytes of a file as it was found; `ChangedError` where it has changed, `ClosedError` where it may not."""
        ...


def path_below(path: str) -> tuple[str, ...]:
    """The parts of a path below the root; refused where it could lead out of it."""
    parts = tuple(path.strip().rstrip("/").split("/")) if path.strip().rstrip("/") else ()
    odd = any(part in ("", ".", "..") or "\\" in part or not part.isprintable() for part in parts)
    if path.strip().startswith("/") or odd:
        message = _("must be a path below the root, without . or ..")
        raise DomainError(
            _("The path is not accepted."), code="path_refused", faults=[Fault("path", path, message, "bills/aws-main")]
        )
    return parts
