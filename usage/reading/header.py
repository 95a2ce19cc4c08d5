"""The header of a table: names matched without regard to case, blanks and BOM; no name twice."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from django.utils.translation import gettext as _

from core.errors import Fault

from .faults import FileRefused


def plain(name: str) -> str:
    """A name as it is compared: no BOM, no blanks around, no case."""
    return name.strip().removeprefix("\ufeff").strip().strip("'\"").strip().casefold()


class Header:
    """The columns of one file, found by name wherever they stand. `same` says what of a name is compared."""

    def __init__(self, names: list[str], *, same: Callable[[str], str] = plain) -> None:
        self.names = [name.strip().removeprefix("\ufeff").strip() for name in names]
        self.plain = [same(name) for name in names]
        self._same = same
        self._at = {name: index for index, name in reversed(list(enumerate(self.plain))) if name}

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return self._same(name) in self._at

    def at(self, *names: str) -> int | None:
        """Where the first of the names stands; None where the file has none of them."""
        return next((self._at[self._same(name)] for name in names if self._same(name) in self._at), None)

    def has(self, *names: str) -> bool:
        return all(name in self for name in names)

    def rest(self, used: Iterable[int | None]) -> list[tuple[int, str]]:
        """Every column that is not used, with a name of its own: twins get a number."""
        taken = {index for index in used if index is not None}
        counts: Counter[str] = Counter()
        found = []
        for index, name in enumerate(self.names):
            if index in taken:
                continue
            counts[name] += 1
            found.append((index, name if counts[name] == 1 else f"{name} {counts[name]}"))
        return found

    def refuse_twins(self, used: Mapping[str, Iterable[str]]) -> None:
        """Two columns that are one name after trimming are refused where the name is one we use: which is the money?"""
        counts = Counter(self.plain)
        wanted = {self._same(alias): name for name, aliases in used.items() for alias in aliases}
        twins = sorted({wanted[name] for name, count in counts.items() if count > 1 and name in wanted})
        if twins:
            raise FileRefused(
                _("Two columns have one name: %(names)s.") % {"names": ", ".join(twins)},
                faults=[Fault(name, name, _("stands twice in the header")) for name in twins],
            )

    def insist(self, required: Mapping[str, Iterable[str]]) -> None:
        """Refuse a file that lacks required columns: all of them at once, near matches named."""
        missing = [name for name, aliases in required.items() if self.at(*aliases) is None]
        if missing:
            raise FileRefused(
                _("Columns are missing: %(names)s.") % {"names": ", ".join(missing)},
                faults=[Fault(name, None, self._missing(name)) for name in missing],
            )

    def _missing(self, name: str) -> str:
        near = difflib.get_close_matches(self._same(name), [name for name in self.plain if name], n=2, cutoff=0.75)
        found = [self.names[self.plain.index(match)] for match in near]
        if found:
            return _("is missing from the header; found %(near)s") % {"near": ", ".join(found)}
        return _("is missing from the header")
