"""A watched folder. Every step down is opened beside its parent and never through a link, so nothing leads out."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from django.utils.translation import gettext as _

from core.errors import DomainError

from .places import LONGEST_NAME, MOST_FILES, ChangedError, ClosedError, Found, Listing, path_below

DEEPEST = 8
DOWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking: a pipe that somebody put there must not hold the worker."""


class Folder:
    """A folder below the watched root. Files are only read; none is moved or deleted."""

    appears_whole = False

    def __init__(self, root: str, path: str) -> None:
        self._root = Path(root)
        self._parts = path_below(path)

    def look(self) -> Listing:
        found = Listing([], {})
        with self._opened(self._parts) as folder:
            self._walk(folder, "", found, DEEPEST)
        return found

    def open(self, file: Found) -> IO[bytes]:
        *parents, last = path_below(file.name)
        try:
            with self._opened((*self._parts, *parents)) as folder:
                number = os.open(last, READ, dir_fd=folder)
        except (OSError, DomainError) as error:
            raise ChangedError from error
        known = os.fstat(number)
        reason = why_closed(known)
        if reason or tag_of(known) != file.tag:
            os.close(number)
            raise ClosedError(reason) if reason else ChangedError
        return os.fdopen(number, "rb")

    @contextmanager
    def _opened(self, parts: tuple[str, ...]) -> Iterator[int]:
        """A folder below the root, by its number."""
        number = self._descend(parts)
        try:
            yield number
        finally:
            os.close(number)

    def _descend(self, parts: tuple[str, ...]) -> int:
        if not self._root.is_absolute():
            raise DomainError(_("HEADROOM_WATCH_ROOT must be an absolute path."))
        try:
            number = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise DomainError(_("The watched root cannot be read: %(error)s.") % {"error": error.strerror}) from None
        for part in parts:
            try:
                below = os.open(part, DOWN, dir_fd=number)
            except OSError as error:
                raise DomainError(why_no_folder(part, error)) from None
            finally:
                os.close(number)
            number = below
        return number

    def _walk(self, folder: int, above: str, found: Listing, deeper: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = above + entry.name
                if entry.name.startswith("."):
                    continue
                if len(found.files) + len(found.refused) >= MOST_FILES:
                    raise DomainError(
                        _("There are more than %(most)s files. Watch a folder of fewer.") % {"most": MOST_FILES}
                    )
                if not entry.name.isprintable() or "\\" in entry.name or len(name) > LONGEST_NAME:
                    shown = name.encode("ascii", "backslashreplace").decode()[:LONGEST_NAME]
                    found.refused[shown] = _("has a name that cannot be used")
                elif entry.is_dir(follow_symlinks=False):
                    self._step_down(folder, entry.name, name, found, deeper)
                else:
                    self._take_in(entry, name, found)

    def _step_down(self, folder: int, name: str, path: str, found: Listing, deeper: int) -> None:
        if not deeper:
            found.refused[path] = _("lies too deep: at most %(most)s folders down") % {"most": DEEPEST}
            return
        try:
            below = os.open(name, DOWN, dir_fd=folder)
        except OSError as error:
            found.refused[path] = _("cannot be read: %(error)s") % {"error": error.strerror}
            return
        try:
            self._walk(below, f"{path}/", found, deeper - 1)
        finally:
            os.close(below)

    def _take_in(self, entry: os.DirEntry[str], name: str, found: Listing) -> None:
        try:
            known = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        if reason := why_closed(known):
            found.refused[name] = reason
            return
        found.files.append(Found(name, known.st_size, tag_of(known), datetime.fromtimestamp(known.st_mtime, UTC)))


def why_no_folder(part: str, error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return _("%(part)s is no folder; links are not followed.") % {"part": part}
    return _("The folder %(part)s cannot be read: %(error)s.") % {"part": part, "error": error.strerror}


def tag_of(known: os.stat_result) -> str:
    return f"{known.st_mtime_ns:x}-{known.st_size:x}-{known.st_ino:x}"


def why_closed(known: os.stat_result) -> str:
    """Why something is not read: it is a link, or shares its bytes with a name elsewhere, or is no file at all."""
    if stat.S_ISLNK(known.st_mode):
        return _("is a link; links are not followed")
    if not stat.S_ISREG(known.st_mode):
        return _("is no file")
    if known.st_nlink > 1:
        return _("is a hard link, which could lie elsewhere; copy it")
    return ""
