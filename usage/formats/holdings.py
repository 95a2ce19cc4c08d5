"""The sums of a snapshot of storage: by place, kind, class and age; checkpoints of runs; copies. Bounded in size."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from ..reading.notes import Notes

if TYPE_CHECKING:
    from .inventory import Thing

MOST_PLACES = 50_000
"""Places, kinds, classes and days told apart while reading; beyond, places are cut to their first folder."""
MOST_RUNS, MOST_STEPS, MOST_COPIES, PATHS_KEPT = 5_000, 200, 1_000, 5
MOST_CANDIDATES = 1_500_000
SMALLEST_COPY = 1 << 20
AGES = ((30, "0-30"), (90, "30-90"), (180, "90-180"), (365, "180-365"))
OLDEST, UNKNOWN_AGE = "365+", "unknown"
COLD = ("90-180", "180-365", OLDEST)
"""Ages in days since the last use that count as cold."""
KINDS = {
    "checkpoint": ".pt .pth .ckpt .safetensors .distcp .bin .h5 .pdparams .msgpack .index",
    "dataset": ".parquet .arrow .jsonl .tar .zst .gz .tfrecord .mds .npy .npz .csv .json .webdataset .lance .idx",
    "media": ".jpg .jpeg .png .mp4 .wav .flac .mp3 .webm .webp .avi .mkv",
    "log": ".log .out .err .txt .tfevents .wandb",
    "code": ".py .sh .yaml .yml .toml .ipynb .md",
    "image": ".sif .img .qcow2 .iso",
}
KIND_OF = {ending: kind for kind, endings in KINDS.items() for ending in endings.split()}
STEP = re.compile(
    r"(?:^|[-_.=])(?:checkpoint|ckpt|global_?step|steps?|iter(?:ation)?|epoch)[-_=]?0*(?P<step>[0-9]{1,12})(?![0-9])",
    re.IGNORECASE,
)
FOLDERS_OF_CHECKPOINTS = frozenset(("checkpoints", "checkpoint", "ckpts", "ckpt", "weights", "saved_models"))


class Sum:
    """One row of the snapshot."""

    class Key(NamedTuple):
        sort: str
        """objects, checkpoints, or copies."""
        place: str
        kind: str = ""
        storage_class: str = ""
        age: str = ""

    def __init__(self, key: Key, quantity: str | None, extra: Mapping[str, object]) -> None:
        self.key, self.quantity = key, quantity
        self.extra = json.dumps(extra, ensure_ascii=False, sort_keys=True)


class Holdings:
    """What was seen so far."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.newest: datetime | None = None
        self._depth = 2
        self._places: dict[tuple[str, str, str, date | None, bool], list[int]] = defaultdict(lambda: [0, 0])
        self._steps: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
        self._smallest = SMALLEST_COPY
        self._seen: dict[bytes, tuple[int, str]] = {}
        self._copies: dict[bytes, list[str]] = {}
        self._counts: dict[bytes, int] = {}

    def add(self, thing: Thing) -> None:
        """Take one object in."""
        for moment in (thing.modified, thing.accessed):
            if moment is not None and (self.newest is None or moment > self.newest):
                self.newest = moment
        run = run_and_step(thing.path)
        kind = "checkpoint" if run else kind_of(thing.path)
        used = thing.accessed or thing.modified
        place = "/".join(thing.path.split("/")[:-1][: self._depth])
        key = (place, kind, thing.storage_class, used.date() if used else None, thing.accessed is not None)
        found = self._places[key]
        found[0] += 1
        found[1] += thing.size
        if len(self._places) > MOST_PLACES and self._depth > 1:
            self._cut_places()
        if run:
            step = self._steps[run]
            step[0] += 1
            step[1] += thing.size
        if thing.size >= self._smallest:
            self._look_for_copies(thing)

    def _cut_places(self) -> None:
        self._depth = 1
        self._notes.warn_once("places_cut")
        before, self._places = self._places, defaultdict(lambda: [0, 0])
        for (place, *rest), (count, size) in before.items():
            found = self._places[place.partition("/")[0], *rest]  # type: ignore[index]
            found[0] += count
            found[1] += size

    def _look_for_copies(self, thing: Thing) -> None:
        mark = thing.etag or thing.path.rpartition("/")[2]
        digest = blake2b(f"{thing.size} {mark}".encode("utf-8", "replace"), digest_size=8).digest()
        first = self._seen.get(digest)
        if first is None:
            self._seen[digest] = (thing.size, thing.path)
            if len(self._seen) > MOST_CANDIDATES:
                self._forget_small()
            return
        paths = self._copies.setdefault(digest, [first[1]])
        self._counts[digest] = self._counts.get(digest, 1) + 1
        paths.append(thing.path)
        if len(paths) > PATHS_KEPT:
            paths.remove(max(paths))

    def _forget_small(self) -> None:
        """Look for copies of larger objects alone, so that what is remembered stays bounded."""
        self._smallest *= 4
        self._notes.warn_once("copies_of_large_objects_only")
        self._seen = {
            digest: found
            for digest, found in self._seen.items()
            if found[0] >= self._smallest or digest in self._copies
        }

    def sums(self, taken: datetime) -> Iterator[Sum]:
        """Everything as rows, as of the time the snapshot was taken."""
        yield from self._objects(taken)
        yield from self._checkpoints()
        yield from self._copied()

    def _objects(self, taken: datetime) -> Iterator[Sum]:
        by_age: dict[tuple[str, str, str, str, bool], list[int]] = defaultdict(lambda: [0, 0])
        for (place, kind, storage_class, used, is_access), (count, size) in self._places.items():
            found = by_age[place, kind, storage_class, age_of(used, taken), is_access]
            found[0] += count
            found[1] += size
        for (place, kind, storage_class, age, is_access), (count, size) in sorted(by_age.items()):
            extra = {"objects": count, "age_by": "access" if is_access else "change"}
            yield Sum(Sum.Key("objects", place, kind, storage_class, age), str(size), extra)

    def _checkpoints(self) -> Iterator[Sum]:
        runs: dict[str, dict[int, list[int]]] = defaultdict(dict)
        for (run, step), found in self._steps.items():
            runs[run][step] = found
        largest = sorted(runs, key=lambda run: (-sum(size for _files, size in runs[run].values()), run))
        if len(largest) > MOST_RUNS:
            self._notes.warn_once("runs_cut", detail=str(len(largest)))
        for run in largest[:MOST_RUNS]:
            steps = sorted(runs[run].items())
            extra = {
                "steps": len(steps),
                "files": sum(files for _step, (files, _size) in steps),
                "bytes": sum(size for _step, (_files, size) in steps),
                "last_step": steps[-1][0],
                "last_bytes": steps[-1][1][1],
                "kept": [[step, files, size] for step, (files, size) in steps[-MOST_STEPS:]],
            }
            yield Sum(Sum.Key("checkpoints", run), None, extra)

    def _copied(self) -> Iterator[Sum]:
        sets = sorted(
            (-(self._counts[digest] - 1) * self._seen[digest][0], min(paths), digest)
            for digest, paths in self._copies.items()
        )
        for wasted, first, digest in sets[:MOST_COPIES]:
            extra = {
                "copies": self._counts[digest],
                "bytes_each": self._seen[digest][0],
                "bytes_beyond_one": -wasted,
                "paths": sorted(self._copies[digest]),
            }
            yield Sum(Sum.Key("copies", first), None, extra)
        if len(sets) > MOST_COPIES:
            self._notes.warn_once("copies_cut", detail=str(len(sets)))


def age_of(used: date | None, taken: datetime) -> str:
    """Days since the last use, as a range."""
    if used is None:
        return UNKNOWN_AGE
    days = (taken.date() - used).days
    return next((name for most, name in AGES if days < most), OLDEST)


def kind_of(path: str) -> str:
    """What a file is, by its ending."""
    name = path.rpartition("/")[2].casefold()
    ending = name[name.rfind(".") :] if "." in name else ""
    return "log" if ".tfevents" in name else KIND_OF.get(ending, "other")


def run_and_step(path: str) -> tuple[str, int] | None:
    """The run's folder and the step of a checkpoint's file; None for any other file."""
    parts = path.split("/")
    for at in range(len(parts) - 1, -1, -1):
        matches = list(STEP.finditer(parts[at]))
        is_file = at == len(parts) - 1
        if not matches or (is_file and kind_of(parts[at]) != "checkpoint"):
            continue
        folders = parts[:at]
        while folders and folders[-1].casefold() in FOLDERS_OF_CHECKPOINTS:
            folders.pop()
        return "/".join(folders) or ".", int(matches[-1]["step"])
    return None
