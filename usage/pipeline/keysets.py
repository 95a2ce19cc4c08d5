"""Key sets and scopes of a delivery: told apart in memory, stored once, known afterwards by their ids."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import CharField

from estimates.engine.books import PriceKey

from ..formats.contract import METER_COLUMNS, Keys, RowReader, ScopeKey, digest_of
from ..models import KeySet, Meter, Scope, Source
from ..reading.faults import RowFault

MEMORY = 100_000
"""Key sets remembered at a time; beyond it the memory starts anew and the database answers."""
CHUNK = 2_000
LENGTHS = {
    field.name: field.max_length
    for model in (Meter, KeySet)
    for field in model._meta.fields
    if isinstance(field, CharField) and field.max_length and field.name in Keys.__dataclass_fields__
}
"""How long the texts of a key set may be."""


class KeyEntry(NamedTuple):
    """What the rows of a key set need to know of it."""

    id: int
    hours_per_quantity: Decimal | None
    """Accelerator-hours in one unit of the rows' quantity."""
    price_key: PriceKey | None
    """What a rate card asks the price table for."""


class KeySets:
    """Answers the id of every key; stores those not seen before."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.known: dict[Any, KeyEntry] = {}
        self._refused: dict[Any, RowFault] = {}

    def fault(self, key: Any) -> RowFault | None:
        return self._refused.get(key)

    def learn(
        self, keys: Iterable[Any], reader: RowReader, price_key: Callable[[Keys], PriceKey] | None = None
    ) -> None:
        """Describe and store keys that are not known; a key that cannot be described is remembered with its fault."""
        if len(self.known) > MEMORY:
            self.known.clear()
        described: dict[Any, Keys] = {}
        for key in keys:
            try:
                described[key] = fitting(reader.describe(key))
            except RowFault as fault:
                self._refused[key] = fault
        digests = {key: digest_of(shared.as_dict()) for key, shared in described.items()}
        ids = store(self._source.pk, {digests[key]: shared for key, shared in described.items()})
        for key, shared in described.items():
            price = price_key(shared) if price_key else None
            self.known[_interned(key)] = KeyEntry(ids[digests[key]], shared.hours_per_quantity, price)


def fitting(keys: Keys) -> Keys:
    """The key set, if every text has room in its column; a text that is longer is no name of anything."""
    for name, most in LENGTHS.items():
        text = getattr(keys, name)
        if len(text) > most:
            raise RowFault(name, f"{text[:80]}…", f"is longer than {most} characters")
    return keys


def _interned(key: Any) -> Any:
    """Equal texts of different keys share their memory."""
    return tuple(sys.intern(part) if type(part) is str else part for part in key) if type(key) is tuple else key


def store(source_id: int, by_digest: dict[str, Keys]) -> dict[str, int]:
    """Insert the key sets that are missing, with their meters; answer the ids of all by digest."""
    ids: dict[str, int] = {}
    pairs = list(by_digest.items())
    for begin in range(0, len(pairs), CHUNK):
        chunk = pairs[begin : begin + CHUNK]
        columns = [{**keys.as_dict(), "digest": digest} for digest, keys in chunk]
        meters = _store_meters(source_id, columns)
        for row in columns:
            row["meter_id"] = meters[_meter_digest(row)]
        _insert("usage_keyset", source_id, [_without(row, METER_COLUMNS) for row in columns])
        ids |= _ids("usage_keyset", source_id, [digest for digest, _ in chunk])
    return ids


def _store_meters(source_id: int, rows: list[dict[str, Any]]) -> dict[str, int]:
    meters = {_meter_digest(row): {name: row[name] for name in METER_COLUMNS} for row in rows}
    _insert("usage_meter", source_id, [{**columns, "digest": digest} for digest, columns in meters.items()])
    return _ids("usage_meter", source_id, list(meters))


def _meter_digest(row: dict[str, Any]) -> str:
    return digest_of({name: row[name] for name in METER_COLUMNS})


def _without(row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _insert(table: str, source_id: int, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in rows[0])
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (source_id, {names}) SELECT %s, {names}"
            f" FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb) ON CONFLICT (source_id, digest) DO NOTHING",
            [source_id, json.dumps(rows, ensure_ascii=False, default=str)],
        )


def _ids(table: str, source_id: int, digests: list[str]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT replace(digest::text, '-', ''), id FROM {table} WHERE source_id = %s AND digest = ANY(%s::uuid[])",
            [source_id, digests],
        )
        return dict(cursor.fetchall())


class Scopes:
    """Answers the id of every scope of a delivery; makes those that are new."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.ids: dict[ScopeKey, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[ScopeKey]:
        return iter(self.ids)

    def learn(self, keys: Iterable[ScopeKey]) -> None:
        for key in keys:
            scope, _made = Scope.objects.get_or_create(
                source=self._source,
                key=key.text[:500],
                defaults={"payer": key.payer[:200], "issuer": key.issuer[:200], "month": key.month},
            )
            self.ids[key] = scope.pk
