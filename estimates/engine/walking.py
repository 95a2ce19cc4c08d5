"""The whole document against the declared fields: every key finds its field, or a fault says that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from typing import Any

from estimates.engine.cells import PERT_KEYS, QUANTILE_KEYS, Cell, Typed, accepted, read_cell
from estimates.engine.field_kinds import Field, Table
from estimates.engine.fields import FIELDS, MAY_BE_OFF, RUNG_SECTIONS, TABLES
from estimates.engine.messages import Phrase, PlanFault, plan_fault
from estimates.engine.reading import Tree, below
from estimates.engine.values import Baseline, Pert, Point, Quantiles, Value

CONVENTION_KEYS = ("attention", "counts", "peak_precision")
MOST_SUGGESTIONS = 20
"""Nearest matches are looked for only in the first unknown keys; a document of garbage must not cost minutes."""


@dataclass
class Branch:
    """A place of the document: what may stand there."""

    path: str
    declared: Field | None = None
    table: Table | None = None
    children: dict[str, Branch] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The keys that may stand here; rows of a list have none."""
        return [key for key in self.children if key != "*"]


@dataclass
class Draft:
    """What has been understood of a document so far. Paths are as declared, with row numbers for `*`."""

    document: Tree = field(default_factory=dict)
    inputs: dict[str, Value] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)
    days: dict[str, date] = field(default_factory=dict)
    profiles: dict[str, tuple[float, ...]] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Typed]]] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)
    seen: dict[str, Any] = field(default_factory=dict)
    """What the document gives, as it stands there, by path: understood or not."""
    unknown_keys: int = 0
    faults: list[PlanFault] = field(default_factory=list)

    def keep(self, path: str, typed: Typed) -> None:
        """File a value under its path, by type."""
        match typed:
            case Point() | Pert() | Quantiles() | Baseline():
                self.inputs[path] = typed
            case bool():
                self.flags[path] = typed
            case str():
                self.words[path] = typed
            case date():
                self.days[path] = typed
            case tuple():
                self.profiles[path] = typed

    def refuse(
        self, path: str, value: Any, code: str, allowed: tuple[Phrase, ...] = (), **parameters: str | int
    ) -> None:
        self.faults.append(plan_fault(path, value, code, allowed, **parameters))

    def has(self, path: str) -> bool:
        """Whether the document gives a path, or anything under it."""
        return path in self.seen


def _grow() -> Branch:
    root = Branch("")
    everything: list[tuple[str, Field | Table]] = [*FIELDS.items(), *TABLES.items()]
    for path, declared in everything:
        branch = root
        for step in path.split("."):
            branch = branch.children.setdefault(step, Branch(below(branch.path, step)))
        if isinstance(declared, Table):
            branch.table = declared
        else:
            branch.declared = declared
    return root


ROOT = _grow()


def walk(tree: Tree, prefix: str, draft: Draft) -> None:
    """Read everything into the draft. `prefix` is where the document itself stands: `members.2` in a life plan."""
    draft.document = _section(tree, ROOT, prefix, draft, len(prefix) + 1 if prefix else 0)


def _section(tree: Tree, branch: Branch, path: str, draft: Draft, cut: int) -> Tree:
    """The normalised keys of one section; `cut` is the length of the prefix that paths of the draft lack."""
    written: Tree = {}
    for key, raw in tree.items():
        child = branch.children.get(key) if key != "*" else None
        if child is None:
            _unknown(key, raw, branch, below(path, key), draft)
        elif raw is not None:
            place = f"{path}.{key}" if path else key
            draft.seen[place[cut:]] = raw
            found = _child(raw, child, place, draft, cut)
            if found is not None:
                written[key] = found
    return {key: written[key] for key in branch.children if key in written}


def _child(raw: Any, branch: Branch, path: str, draft: Draft, cut: int) -> Any:
    if branch.path in MAY_BE_OFF and isinstance(raw, str) and raw.strip().lower() == "none":
        draft.off.add(branch.path)
        return "none"
    if branch.table is not None and (isinstance(raw, list) or not branch.keys):
        return _table(raw, branch, path, draft, cut)
    if branch.declared is not None:
        return _field(raw, branch.declared, path, draft, cut)
    if isinstance(raw, Mapping):
        return _section(dict(raw), branch, path, draft, cut) or None
    words = [Phrase("section", {"example": example_keys(branch)})]
    if branch.path in MAY_BE_OFF:
        words.append(Phrase("word", {"word": "none"}))
    draft.refuse(path, raw, "wrong_type_section", tuple(words))
    return None


def example_keys(branch: Branch) -> str:
    return ", ".join(branch.keys[:3])


def _field(raw: Any, declared: Field, path: str, draft: Draft, cut: int) -> Any:
    if declared.convention and isinstance(raw, Mapping):
        return _with_convention(dict(raw), declared, path, draft, cut)
    cell = read_cell(raw, declared, path, draft.faults)
    if cell is None:
        return None
    draft.keep(path[cut:], cell.typed)
    return cell.written


def _with_convention(raw: Tree, declared: Field, path: str, draft: Draft, cut: int) -> Any:
    """A number or a range, with the keys that say what it counts."""
    written: Tree = {}
    for key in CONVENTION_KEYS:
        word = FIELDS.get(f"{declared.path}.{key}")
        if word is not None and raw.get(key) is not None:
            draft.seen[f"{path[cut:]}.{key}"] = raw[key]
            found = _field(raw[key], word, below(path, key), draft, cut)
            if found is not None:
                written[key] = found
        if word is not None:
            raw.pop(key, None)
    figure: Any = raw
    if "value" in raw and not any(key in raw for key in (*PERT_KEYS, *QUANTILE_KEYS)):
        figure = raw.pop("value")
        for key in raw:
            draft.refuse(below(path, key), raw[key], "unknown_key", (Phrase("range"),))
    if figure is None or figure == {}:
        draft.refuse(below(path, "value"), None, "missing", accepted(declared))
        return None
    cell = read_cell(figure, declared, path, draft.faults)
    if cell is None:
        return None
    draft.keep(path[cut:], cell.typed)
    if not written:
        return cell.written
    return {**cell.written, **written} if isinstance(cell.written, dict) else {"value": cell.written, **written}


def _table(raw: Any, branch: Branch, path: str, draft: Draft, cut: int) -> list[Tree] | None:
    assert branch.table is not None
    limit = (Phrase("list", {"rows": branch.table.most_rows}),)
    if not isinstance(raw, list):
        draft.refuse(path, raw, "wrong_type_list", limit)
        return None
    if len(raw) > branch.table.most_rows:
        draft.refuse(path, raw, "too_many_rows", limit, rows=len(raw))
        return None
    if not raw:
        if branch.path in MAY_BE_OFF:
            draft.refuse(path, raw, "empty_list", (*limit, Phrase("word", {"word": "none"})))
        return None
    columns = branch.children["*"]
    rows: list[dict[str, Typed]] = []
    written = []
    for index, item in enumerate(raw):
        place = below(path, index)
        if not isinstance(item, Mapping):
            keys = (Phrase("section", {"example": example_keys(columns)}),)
            draft.refuse(place, item, "wrong_type_row", keys)
            continue
        row = dict(item)
        if branch.path == "experiments":
            row = _lifted(row, place, draft)
        cells = _row(row, columns, place, draft)
        rows.append({key: cell.typed for key, cell in cells.items()})
        written.append({key: cell.written for key, cell in cells.items() if row.get(key) is not None})
        for key, cell in cells.items():
            draft.keep(f"{place[cut:]}.{key}", cell.typed)
            if row.get(key) is not None:
                draft.seen[f"{place[cut:]}.{key}"] = row[key]
    draft.tables[branch.path] = rows
    return written


def _row(row: Tree, columns: Branch, path: str, draft: Draft) -> dict[str, Cell]:
    """The cells of one row, in the order of declaration, constant defaults among them."""
    for key, raw in row.items():
        if key not in columns.children:
            _unknown(key, raw, columns, below(path, key), draft)
    cells: dict[str, Cell] = {}
    for key, child in columns.children.items():
        assert child.declared is not None
        if row.get(key) is not None:
            cell = read_cell(row[key], child.declared, below(path, key), draft.faults)
            if cell is not None:
                cells[key] = cell
        elif child.declared.required:
            draft.refuse(below(path, key), None, "missing", accepted(child.declared))
        elif child.declared.default is not None:
            default = default_of(child.declared)
            cells[key] = Cell(child.declared.default, default)
    return cells


def _lifted(row: Tree, path: str, draft: Draft) -> Tree:
    """A rung written as a small plan, with its sections taken away."""
    flat: Tree = {key: raw for key, raw in row.items() if key not in RUNG_SECTIONS}
    for section in RUNG_SECTIONS:
        inner = row.get(section)
        if inner is None:
            continue
        if not isinstance(inner, Mapping):
            draft.refuse(below(path, section), inner, "wrong_type_section", (Phrase("section", {"example": "tokens"}),))
            continue
        for key, raw in inner.items():
            if flat.get(key) is not None:
                draft.refuse(below(below(path, section), key), raw, "given_twice", other=below(path, key))
            else:
                flat[key] = raw
    return flat


def default_of(declared: Field) -> Typed:
    """The typed constant default of a field that has one."""
    if declared.default == "baseline":
        return Baseline.BASELINE
    if isinstance(declared.default, float):
        return Point(declared.default)
    assert declared.default is not None
    return declared.default


def _unknown(key: str, raw: Any, branch: Branch, path: str, draft: Draft) -> None:
    draft.unknown_keys += 1
    near = _nearest(key, branch) if draft.unknown_keys <= MOST_SUGGESTIONS else None
    allowed = (Phrase("keys", {"keys": ", ".join(branch.keys)}),)
    if near is None:
        draft.refuse(path, raw, "unknown_key", allowed)
    else:
        draft.refuse(path, raw, "unknown_key_near", allowed, near=near)


def _nearest(key: str, branch: Branch) -> str | None:
    """The key that may have been meant: beside it, or anywhere by the same name."""
    beside = get_close_matches(key[:60], branch.keys, 1, 0.75)
    if beside:
        return below(branch.path, beside[0])
    elsewhere = [path for path in (*FIELDS, *TABLES) if path.rpartition(".")[2] == key and "*" not in path]
    return min(elsewhere, key=lambda path: path.count("."), default=None)
