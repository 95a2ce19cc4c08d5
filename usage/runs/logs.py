"""A log as it is delivered: a file, a folder of MLflow's file store, or an archive of either."""

from __future__ import annotations

import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from django.utils.translation import gettext as _

from ..reading.faults import FileRefused
from ..reading.unpack import BROKEN, ZIP, damaged, opened_archive, opened_member

MOST_MEMBERS = 10_000
MOST_BYTES = 1 << 30
"""Of an archive, unpacked: the metrics of a run are lines of numbers."""
BLOCK = 1 << 20
METRICS = "metrics"
NO_RUNS = frozenset([".trash", "models"])
"""Folders of MLflow's store that hold metrics of other things than runs."""


@contextmanager
def opened_log(path: Path) -> Iterator[Path]:
    """The file to read, or the folder of the one run in a folder or archive."""
    if path.is_dir():
        yield run_folder(path)
        return
    with path.open("rb") as file:
        is_archive = file.read(4) == ZIP
    if not is_archive:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        unpack(path, Path(folder))
        found = [inner for inner in Path(folder).rglob("*") if inner.is_file()]
        yield found[0] if len(found) == 1 else run_folder(Path(folder))


def run_folder(folder: Path) -> Path:
    """The folder that is a run of MLflow, or the only one inside; the folder itself where there is none."""
    if (folder / METRICS).is_dir():
        return folder
    runs = sorted(
        inner.parent
        for inner in folder.rglob(METRICS)
        if inner.is_dir() and not NO_RUNS & set(inner.relative_to(folder).parts)
    )
    if len(runs) > 1:
        names = ", ".join(run.relative_to(folder).as_posix() for run in runs[:5])
        raise FileRefused(
            _("There are %(count)s runs in it: %(names)s. Deliver the folder of one.")
            % {"count": len(runs), "names": names},
            value=names,
        )
    return runs[0] if runs else folder


def unpack(path: Path, into: Path) -> None:
    """Write the files of an archive below a folder, and nowhere else."""
    with path.open("rb") as packed:
        archive = opened_archive(packed)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MOST_MEMBERS:
            raise FileRefused(_("The archive holds more than %(most)s files.") % {"most": MOST_MEMBERS})
        left = MOST_BYTES
        for member in members:
            left -= write_member(archive, member, into, left)


def write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, into: Path, most: int) -> int:
    """Write one file of an archive; how many bytes it had."""
    target = into.joinpath(*parts_of(member))
    size = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened_member(archive, member) as source, target.open("wb") as file:
            while block := source.read(BLOCK):
                size += len(block)
                if size > most:
                    raise FileRefused(_("Unpacked, the archive is larger than the metrics of a run."))
                file.write(block)
    except BROKEN as error:
        raise damaged(error) from None
    return size


def parts_of(member: zipfile.ZipInfo) -> tuple[str, ...]:
    """The parts of a member's name, which must lead down, and to a file."""
    parts = PurePosixPath(member.filename).parts
    odd = "\\" in member.filename or any(part in ("/", "..") or not part.isprintable() for part in parts)
    if odd or not parts or stat.S_ISLNK(member.external_attr >> 16):
        raise FileRefused(
            _("The archive holds a name that leads elsewhere."), column="file", value=member.filename[:200]
        )
    return parts
