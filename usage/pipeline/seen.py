"""Which records of a file are already live word for word, told from fingerprints before anything is parsed.

A statement delivered again holds mostly the same records in some order. Their fingerprints (96 of 128 bits, sorted,
a few bytes a row) are held in memory; a record that is found claims one live record, so that two equal records need
two live ones. What is left unclaimed in the end is gone or changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.db import connection

from ..models import Source

MOST_ROWS = 12_000_000
"""Beyond this the memory would no longer be small; the delivery is then compared in the database alone."""
BLOCK = 20_000
ROW = np.dtype([("high", ">u8"), ("low", ">u4"), ("rest", ">u4"), ("id", ">i8"), ("scope", ">i8")])


class LiveRows:
    """The fingerprints of a source's live records, and which of them the delivery has claimed."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        table = np.concatenate([np.frombuffer(block, dtype=ROW) for block in blocks] or [np.empty(0, dtype=ROW)])
        high = table["high"].astype(np.uint64)
        order = np.argsort(high, kind="stable")
        self._high = high[order]
        self._low = table["low"].astype(np.uint32)[order]
        self._id = table["id"].astype(np.int64)[order]
        self._scopes, self._scope = np.unique(table["scope"].astype(np.int64)[order], return_inverse=True)
        self._scope = self._scope.astype(np.int32)
        self._claimed = np.zeros(len(order), dtype=bool)

    def __len__(self) -> int:
        return len(self._id)

    def claim(self, prints: list[bytes]) -> list[bool]:
        """For every fingerprint, in order, whether a live record was left for it."""
        if not len(self):
            return [False] * len(prints)
        wanted = np.frombuffer(b"".join(prints), dtype=[("high", ">u8"), ("low", ">u4"), ("rest", ">u4")])
        high = wanted["high"].astype(np.uint64)
        low = wanted["low"].astype(np.uint32)
        at = np.minimum(np.searchsorted(self._high, high), len(self) - 1)
        found = (self._high[at] == high) & (self._low[at] == low) & ~self._claimed[at]
        places, first = np.unique(at[found], return_index=True)
        alone = np.zeros(len(prints), dtype=bool)
        alone[np.flatnonzero(found)[first]] = True
        self._claimed[places] = True
        for index in np.flatnonzero((self._high[at] == high) & ~alone):
            alone[index] = self._claim_twin(int(at[index]), high[index], low[index])
        return alone.tolist()

    def _claim_twin(self, at: int, high: np.uint64, low: np.uint32) -> bool:
        """Further equal records stand beside the first."""
        while at < len(self) and self._high[at] == high:
            if self._low[at] == low and not self._claimed[at]:
                self._claimed[at] = True
                return True
            at += 1
        return False

    def claimed_by_scope(self) -> dict[int, int]:
        """How many live records of each scope the delivery holds word for word."""
        counts = np.bincount(self._scope[self._claimed], minlength=len(self._scopes))
        return {int(scope): int(count) for scope, count in zip(self._scopes, counts, strict=True) if count}

    def unclaimed(self) -> Iterator[tuple[int, int]]:
        """The other live records: id and scope."""
        places = np.flatnonzero(~self._claimed)
        scopes = self._scopes[self._scope[places]]
        return zip(self._id[places].tolist(), scopes.tolist(), strict=True)


def live_rows(source: Source) -> LiveRows | None:
    """The live records of a source by fingerprint; None where they are too many to hold."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM usage_record r JOIN usage_scope s ON s.id = r.scope_id
               WHERE s.source_id = %s AND r.known_until_id IS NULL""",
            [source.pk],
        )
        if cursor.fetchone()[0] > MOST_ROWS:
            return None
        cursor.execute(
            """SELECT string_agg(uuid_send(r.text_print) || int8send(r.id) || int8send(r.scope_id), ''::bytea)
               FROM usage_record r JOIN usage_scope s ON s.id = r.scope_id
               WHERE s.source_id = %s AND r.known_until_id IS NULL GROUP BY r.id / %s""",
            [source.pk, BLOCK],
        )
        return LiveRows(bytes(block) for (block,) in cursor)
