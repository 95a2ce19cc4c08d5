"""Which of the files that a look found may be taken, and together with which others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from django.utils.translation import gettext as _

from ..reading.manifest import is_manifest
from .places import Found

SETTLED = timedelta(seconds=20)
"""So long a file must have stood unchanged between two looks."""
DONE, SUCCESS = ".done", "_SUCCESS"
UNFINISHED = (".tmp", ".part", ".partial", ".filepart", ".crdownload", ".swp")


@dataclass(frozen=True)
class Seen:
    """How an earlier look found a file, and since when it has been so."""

    tag: str
    since: datetime


@dataclass(frozen=True)
class Bundle:
    """Files that are delivered as one: a file alone, the parts that a manifest names, or the files of a folder."""

    name: str
    files: tuple[Found, ...]


@dataclass
class Judged:
    """What may be taken, in order of age; what waits and why; what only says that others are complete."""

    bundles: list[Bundle] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    settling: set[str] = field(default_factory=set)
    markers: set[str] = field(default_factory=set)


def is_marker(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last == SUCCESS or last.endswith(DONE) or is_manifest(last)


def judge(
    files: Iterable[Found],
    seen: Mapping[str, Seen],
    manifests: Mapping[str, Mapping[str, int | None]],
    *,
    pattern: str,
    appears_whole: bool,
    now: datetime,
    folder_is_one: bool = False,
) -> Judged:
    """What of the files may be taken now.

    `manifests` holds what the manifests say that have settled themselves. A file is complete where the place shows
    only whole files, where a marker says so (`NAME.done`, `_SUCCESS` in its folder, a manifest with its size), or where
    it stood unchanged for a while between two looks. Where the files of a folder are one delivery, all of them must be
    complete, and stand still even in a place that shows only whole files: the last may not be there yet.
    """
    known = {file.name: file for file in files}
    judged = Judged(markers={name for name in known if is_marker(name)})
    complete = {
        name
        for name, file in known.items()
        if (appears_whole and not folder_is_one)
        or is_said_complete(name, known)
        or has_settled(file, seen.get(name), now)
    }
    in_manifests: set[str] = set()
    folders: dict[str, list[Found]] = {}
    for manifest in sorted(manifests):
        judge_parts(manifest, manifests[manifest], known, complete, in_manifests, judged)
    for name, file in known.items():
        if name in judged.markers:
            if name not in complete:
                judged.settling.add(name)
        elif name in in_manifests or not fnmatchcase(name.rpartition("/")[2], pattern):
            continue
        elif name.lower().endswith(UNFINISHED):
            judged.waiting[name] = _("its name says that it is still being written")
        elif folder_is_one:
            folders.setdefault(name.rpartition("/")[0], []).append(file)
        elif name in complete:
            judged.bundles.append(Bundle(name, (file,)))
        else:
            judged.settling.add(name)
    for folder, together in folders.items():
        judge_folder(folder, together, complete, judged)
    judged.bundles.sort(key=lambda bundle: (max(file.modified for file in bundle.files), bundle.name))
    return judged


def judge_folder(folder: str, together: list[Found], complete: set[str], judged: Judged) -> None:
    """The files of one folder go together, when all of them are complete."""
    unsettled = {file.name for file in together} - complete
    if not unsettled:
        judged.bundles.append(Bundle(folder or "files", tuple(sorted(together, key=lambda file: file.name))))
        return
    judged.settling |= unsettled
    for file in together:
        if file.name not in unsettled:
            judged.waiting[file.name] = _("waits for the others of its folder")


def judge_parts(
    manifest: str,
    parts: Mapping[str, int | None],
    known: Mapping[str, Found],
    complete: set[str],
    in_manifests: set[str],
    judged: Judged,
) -> None:
    """The parts of one manifest go together, when the last of them is there."""
    found = {part: find_part(part, manifest, known) for part in parts}
    present = {part: file for part, file in found.items() if file is not None and file.name not in in_manifests}
    in_manifests.update(file.name for file in present.values())
    lacking = [part for part, file in found.items() if file is None]
    unfinished = [
        part for part, file in present.items() if file.size != (parts[part] if parts[part] is not None else file.size)
    ]
    unsettled = [part for part, file in present.items() if parts[part] is None and file.name not in complete]
    if lacking or unfinished or unsettled:
        for file in present.values():
            judged.waiting[file.name] = _("waits for %(part)s, which %(manifest)s names") % {
                "part": (lacking or unfinished or unsettled)[0],
                "manifest": manifest,
            }
        judged.settling.update(present[part].name for part in unsettled)
        return
    if present:
        judged.bundles.append(Bundle(manifest, tuple(sorted(present.values(), key=lambda file: file.name))))


def find_part(part: str, manifest: str, known: Mapping[str, Found]) -> Found | None:
    """The file that a manifest means: beside it, or by the end of a longer key. Nothing outside of the listing."""
    beside = manifest.rpartition("/")[0]
    if (found := known.get(f"{beside}/{part}" if beside else part)) is not None:
        return found
    return next((file for name, file in known.items() if part == name or part.endswith(f"/{name}")), None)


def is_said_complete(name: str, known: Mapping[str, Found]) -> bool:
    folder = name.rpartition("/")[0]
    return name + DONE in known or (f"{folder}/{SUCCESS}" if folder else SUCCESS) in known


def has_settled(file: Found, earlier: Seen | None, now: datetime) -> bool:
    return earlier is not None and earlier.tag == file.tag and now - earlier.since >= SETTLED
