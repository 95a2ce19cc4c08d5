"""The original of every delivery, kept under its content hash."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True)
class KeptFile:
    """A file that is kept: its hash and its size."""

    sha256: str
    size: int


def folder() -> Path:
    return Path(settings.MEDIA_ROOT) / "usage"


def ready_folder() -> Path:
    """The folder, made where it is missing."""
    folder().mkdir(parents=True, exist_ok=True)
    return folder()


def path_of(sha256: str) -> Path:
    """Where the file with this hash is."""
    return folder() / sha256[:2] / sha256


def keep(chunks: Iterable[bytes]) -> KeptFile:
    """Write the bytes once, under their hash; a crash leaves no half file under a hash's name."""
    digest, size = hashlib.sha256(), 0
    with tempfile.NamedTemporaryFile(dir=ready_folder(), prefix="arriving-", delete=False) as arriving:
        temporary = Path(arriving.name)
        try:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                arriving.write(chunk)
            arriving.flush()
            os.fsync(arriving.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    kept = path_of(digest.hexdigest())
    kept.parent.mkdir(exist_ok=True)
    temporary.replace(kept)
    return KeptFile(digest.hexdigest(), size)
