"""The staging table of one import: UNLOGGED, filled by COPY on Django's own connection, dropped when the import ends.

Its rows are committed while the file is being read and mean nothing until the swap takes them over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection

COLUMNS = (
    "line",
    "text_print",
    "row_print",
    "issued_at",
    "scope_id",
    "key_set_id",
    "usage_start",
    "usage_end",
    "billing_month",
    "currency",
    "billed",
    "effective",
    "list_cost",
    "contracted",
    "quantity",
    "accelerator_hours",
    "cpu_core_hours",
    "row_key",
    "rank",
    "provisional",
    "job",
    "extra",
)
"""Every staged column is a column of `usage_record` by the same name; `number` counts a delivery's records."""


class Staging:
    """One import's staging tables and the COPY that is open on them."""

    def __init__(self, import_id: int) -> None:
        self.rows = f"usage_staged_{import_id}"
        self.unclaimed = f"usage_unclaimed_{import_id}"
        self._context: Any = None
        self._copy: Any = None

    def create(self) -> None:
        """Fresh tables, whatever an earlier attempt left."""
        self.drop()
        columns = ", ".join(COLUMNS)
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE UNLOGGED TABLE {self.rows} WITH (autovacuum_enabled = false)"
                f" AS SELECT 0::bigint AS number, {columns} FROM usage_record WITH NO DATA"
            )
            cursor.execute(
                f"CREATE UNLOGGED TABLE {self.unclaimed} (id bigint, scope_id bigint) WITH (autovacuum_enabled = false)"
            )

    def write(self, lines: Iterable[str]) -> None:
        """Send lines of COPY text; the server stores them while the next are being read."""
        if self._copy is None:
            statement = f"COPY {self.rows} (number, {', '.join(COLUMNS)}) FROM STDIN"
            self._context = connection.cursor().copy(statement)
            self._copy = self._context.__enter__()
        self._copy.write("".join(lines).encode())

    def pause(self) -> None:
        """End the open COPY, so that the connection is free for other statements."""
        if self._copy is not None:
            self._copy = None
            self._context.__exit__(None, None, None)

    def write_unclaimed(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Live records (id, scope) that the delivery does not hold word for word."""
        with connection.cursor() as cursor, cursor.copy(f"COPY {self.unclaimed} (id, scope_id) FROM STDIN") as copy:
            copy.write("".join(f"{record}\t{scope}\n" for record, scope in pairs))

    def analyze(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {self.rows}")
            cursor.execute(f"ANALYZE {self.unclaimed}")

    def drop(self) -> None:
        self.abandon()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.rows}, {self.unclaimed}")

    @contextlib.contextmanager
    def let_go_on_failure(self) -> Iterator[None]:
        """Whoever handles the failure has the connection for statements of its own."""
        try:
            yield
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Give up an open COPY after a failure."""
        if self._copy is not None:
            self._copy = None
            with contextlib.suppress(AbandonedError):
                self._context.__exit__(AbandonedError, AbandonedError(), None)


class AbandonedError(Exception):
    """The COPY is to end without its rows."""
