"""From staging to live, in one transaction: compare, end what is gone, write what is new, roll up, tell.

A statement is compared scope by scope as a bag of rows, so that equal rows stay apart. A log is compared by key: an
ended job wins over an open one, then the longer, then the later issued. What is appended adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

from core.money import exact_text

from .. import periods
from ..allocation import place_new
from ..delivery import Settings
from ..models import Import, Meaning, Scope, Source
from .rollup import SUMS_OF_COST, Sums, add_sums, rebuild_touched, touch_records
from .staging import COLUMNS, Staging

LOCK_OF_SOURCES = 724_001
TEMPORARY = ("usage_swap_close", "usage_swap_write", "usage_swap_old", "usage_swap_match", "usage_swap_best")


class HeldError(Exception):
    """The delivery is legal and doubtful: a person has to say yes. `reasons` say why."""

    def __init__(self, reasons: list[str], changes: Sequence[SumChange] = ()) -> None:
        super().__init__("; ".join(reasons))
        self.reasons, self.changes = reasons, changes


class SumChange(NamedTuple):
    """What a delivery would make of one sum of a scope; `after` is None where no row would be left."""

    scope: str
    currency: str
    cost: str
    before: Decimal
    after: Decimal | None
    state: str

    def as_texts(self) -> dict[str, str]:
        after = exact_text(self.after or Decimal(0))
        named = {"scope": self.scope, "currency": self.currency, "cost": self.cost}
        return {**named, "before": exact_text(self.before), "after": after}


class OutdatedError(Exception):
    """The source changed between reading and writing; the reading must be done again."""


class UnreconciledError(Exception):
    """What was stored is not what the file holds. Nothing is kept."""


@dataclass
class Swap:
    """What changed, and in which scopes."""

    scopes: list[Scope] = field(default_factory=list)
    older: list[Scope] = field(default_factory=list)
    written: int = 0
    closed: int = 0
    unchanged: int = 0
    repeated: int = 0
    """Of a log: records of the delivery whose key another of its records has, and holds better."""

    @property
    def changed(self) -> bool:
        return bool(self.written or self.closed)


def lock_source(source_id: int) -> None:
    """Two imports of one source come one after the other; others run beside."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_OF_SOURCES, source_id])


class Swapper:
    """Takes one staged delivery over. Call `run` inside a transaction that holds the source's lock."""

    def __init__(
        self,
        delivery: Import,
        source: Source,
        settings: Settings,
        staging: Staging,
        *,
        meaning: str,
        claimed: dict[int, int] | None,
    ) -> None:
        self._delivery, self._source, self._settings = delivery, source, settings
        self._staging, self._meaning, self._claimed = staging, meaning, claimed
        self._parameters: dict[str, Any] = {"import": delivery.pk, "source": source.pk}
        self._repeated = 0

    def run(self, emptied: list[Scope]) -> Swap:
        """Compare and write. `emptied` are scopes that the delivery covers without a row."""
        swap = self._choose_scopes(emptied)
        self._parameters["scopes"] = [scope.pk for scope in swap.scopes]
        self._temporary_tables()
        {
            Meaning.STATEMENT: self._compare_statement,
            Meaning.LOG: self._compare_log,
            Meaning.APPEND: self._compare_append,
        }[Meaning(self._meaning)]()
        swap.closed = self._count("usage_swap_close")
        swap.written = self._count("usage_swap_write")
        swap.repeated = self._repeated
        if swap.changed and not self._delivery.confirmed_at:
            self._hold_if_doubtful(swap)
        if swap.changed:
            self._write(swap)
        self._activate(swap)
        return swap

    def _choose_scopes(self, emptied: list[Scope]) -> Swap:
        """Scopes whose live delivery is newer keep it; the rest take this one."""
        delivered = set(self._claimed or ())
        delivered |= {row[0] for row in self._rows(f"SELECT DISTINCT scope_id FROM {self._staging.rows}")}
        delivered |= {scope.pk for scope in emptied}
        swap = Swap()
        for scope in Scope.objects.select_for_update().filter(pk__in=delivered).order_by("pk"):
            newer = scope.issued_at is not None and scope.issued_at > self._delivery.ordered_by
            if self._meaning == Meaning.STATEMENT and newer:
                swap.older.append(scope)
            else:
                swap.scopes.append(scope)
        return swap

    def _temporary_tables(self) -> None:
        """Those of an earlier import go first: a caller may run several in one transaction."""
        self._run(f"DROP TABLE IF EXISTS {', '.join(f'pg_temp.{name}' for name in TEMPORARY)}")
        self._run("CREATE TEMP TABLE usage_swap_close (id bigint) ON COMMIT DROP")
        self._run("CREATE TEMP TABLE usage_swap_write (number bigint) ON COMMIT DROP")

    def _compare_statement(self) -> None:
        if self._claimed is None:
            candidates = "SELECT id FROM usage_record WHERE scope_id = ANY(%(scopes)s) AND known_until_id IS NULL"
        else:
            candidates = f"SELECT id FROM {self._staging.unclaimed} WHERE scope_id = ANY(%(scopes)s)"
        self._run(f"CREATE TEMP TABLE usage_swap_old ON COMMIT DROP AS {candidates}")
        if not self._count("usage_swap_old"):
            self._run(
                f"INSERT INTO usage_swap_write SELECT number FROM {self._staging.rows} WHERE scope_id = ANY(%(scopes)s)"
            )
            return
        self._run("ANALYZE usage_swap_old")
        self._run(
            f"""CREATE TEMP TABLE usage_swap_match ON COMMIT DROP AS
                SELECT old.id, fresh.number FROM (
                    SELECT r.id, r.scope_id, r.row_print,
                           row_number() OVER (PARTITION BY r.scope_id, r.row_print ORDER BY r.id) AS ordinal
                    FROM usage_record r JOIN usage_swap_old USING (id)) AS old
                FULL JOIN (
                    SELECT number, scope_id, row_print,
                           row_number() OVER (PARTITION BY scope_id, row_print ORDER BY number) AS ordinal
                    FROM {self._staging.rows} WHERE scope_id = ANY(%(scopes)s)) AS fresh
                USING (scope_id, row_print, ordinal)
                WHERE old.id IS NULL OR fresh.number IS NULL"""
        )
        self._run("INSERT INTO usage_swap_close SELECT id FROM usage_swap_match WHERE number IS NULL")
        self._run("INSERT INTO usage_swap_write SELECT number FROM usage_swap_match WHERE id IS NULL")

    def _compare_log(self) -> None:
        """Best of the file by key, then against the live row of that key; a record read anew wins over itself."""
        self._run(
            f"""CREATE TEMP TABLE usage_swap_best ON COMMIT DROP AS
                SELECT DISTINCT ON (row_key) row_key, number, rank, row_print, text_print
                FROM {self._staging.rows}
                ORDER BY row_key, rank DESC NULLS LAST, row_print DESC"""
        )
        self._run("ANALYZE usage_swap_best")
        self._repeated = self._count(self._staging.rows) - self._count("usage_swap_best")
        self._run(
            """CREATE TEMP TABLE usage_swap_match ON COMMIT DROP AS
               SELECT best.number, live.id, live.row_print = best.row_print AS same,
                      live.id IS NULL
                      OR (coalesce(best.rank, 0), %(issued)s, best.text_print = live.text_print, best.row_print)
                          > (coalesce(live.rank, 0), live.issued_at, false, live.row_print) AS wins
               FROM usage_swap_best best
               LEFT JOIN usage_record live ON live.row_key = best.row_key AND live.known_until_id IS NULL""",
            issued=self._delivery.ordered_by,
        )
        self._run(
            """UPDATE usage_record r SET issued_at = %(issued)s FROM usage_swap_match m
               WHERE r.id = m.id AND m.same AND r.issued_at < %(issued)s""",
            issued=self._delivery.ordered_by,
        )
        self._run(
            "INSERT INTO usage_swap_close SELECT id FROM usage_swap_match WHERE wins AND NOT same AND id IS NOT NULL"
        )
        self._run(
            "INSERT INTO usage_swap_write SELECT number FROM usage_swap_match WHERE wins AND coalesce(NOT same, true)"
        )

    def _compare_append(self) -> None:
        """Rows with an identity of their own add once; others add with their file."""
        self._run(
            f"""INSERT INTO usage_swap_write
                SELECT DISTINCT ON (coalesce(s.row_key::text, s.number::text)) s.number FROM {self._staging.rows} s
                WHERE s.row_key IS NULL OR NOT EXISTS (
                    SELECT 1 FROM usage_record r WHERE r.row_key = s.row_key AND r.known_until_id IS NULL)
                ORDER BY coalesce(s.row_key::text, s.number::text), s.number"""
        )

    def _hold_if_doubtful(self, swap: Swap) -> None:
        """Nothing where something was, much less than there was, or a change of a final period waits for a person."""
        final = {scope.key for scope in swap.scopes if scope.pk in self._changed_final_scopes()}
        drops = self._meaning == Meaning.STATEMENT and bool(swap.closed) and self._settings.drop_limit != 1
        if not final and not drops:
            return
        changes = self._before_and_after()
        reasons = [f"{scope}: is final and would change" for scope in sorted(final)]
        for change in changes if drops else []:
            scope, currency, before, after = change.scope, change.currency, change.before, change.after
            if after is None:
                reasons.append(f"{scope}: all {before} {currency} would go".replace("  ", " "))
            elif before > 0 and after < before * (1 - self._settings.drop_limit):
                reasons.append(f"{scope}: {before} {currency} would become {after} {currency}")
        if reasons:
            raise HeldError(list(dict.fromkeys(reasons)), changes)

    def _changed_final_scopes(self) -> set[int]:
        """Final scopes of which a row would be ended or written."""
        rows = self._rows(
            f"""SELECT DISTINCT s.id FROM usage_scope s WHERE s.id = ANY(%(scopes)s) AND s.state = 'final'
                AND (EXISTS (SELECT 1 FROM {self._staging.rows} JOIN usage_swap_write USING (number)
                             WHERE scope_id = s.id)
                     OR EXISTS (SELECT 1 FROM usage_record r JOIN usage_swap_close USING (id)
                                WHERE r.scope_id = s.id))"""
        )
        return {row[0] for row in rows}

    def _before_and_after(self) -> list[SumChange]:
        """By scope, currency and cost: the live sum, and what it would be."""
        return [
            SumChange(key, currency, cost, before, None if not rows else after, state)
            for key, currency, rows, cost, before, after, state in self._rows(
                f"""WITH live AS (
                        SELECT scope_id, currency, count(*) AS rows,
                               coalesce(sum(billed), 0) AS billed, coalesce(sum(effective), 0) AS effective
                        FROM usage_record WHERE scope_id = ANY(%(scopes)s) AND known_until_id IS NULL GROUP BY 1, 2),
                    gone AS (
                        SELECT scope_id, currency, count(*) AS rows,
                               coalesce(sum(billed), 0) AS billed, coalesce(sum(effective), 0) AS effective
                        FROM usage_record JOIN usage_swap_close USING (id) GROUP BY 1, 2),
                    come AS (
                        SELECT scope_id, currency, count(*) AS rows,
                               coalesce(sum(billed), 0) AS billed, coalesce(sum(effective), 0) AS effective
                        FROM {self._staging.rows} JOIN usage_swap_write USING (number) GROUP BY 1, 2),
                    both_ AS (
                        SELECT scope_id, currency, live.rows - coalesce(gone.rows, 0) + coalesce(come.rows, 0) AS rows,
                               live.billed AS billed, live.effective AS effective,
                               live.billed - coalesce(gone.billed, 0) + coalesce(come.billed, 0) AS new_billed,
                               live.effective - coalesce(gone.effective, 0) + coalesce(come.effective, 0)
                                   AS new_effective
                        FROM live LEFT JOIN gone USING (scope_id, currency) LEFT JOIN come USING (scope_id, currency))
                    SELECT s.key, b.currency, b.rows, pair.cost, pair.before, pair.after, s.state
                    FROM both_ b JOIN usage_scope s ON s.id = b.scope_id
                    CROSS JOIN LATERAL (VALUES ('billed', b.billed, b.new_billed),
                                                ('effective', b.effective, b.new_effective))
                        AS pair(cost, before, after)
                    WHERE pair.before <> pair.after OR b.rows = 0 ORDER BY 1, 2"""
            )
        ]

    def _write(self, swap: Swap) -> None:
        columns = ", ".join(COLUMNS)
        self._run("ANALYZE usage_swap_close")
        self._run("ANALYZE usage_swap_write")
        if swap.closed:
            touch_records(
                "SELECT key_set_id, usage_start, usage_end FROM usage_record JOIN usage_swap_close USING (id)", {}
            )
            self._run("UPDATE usage_record r SET known_until_id = %(import)s FROM usage_swap_close c WHERE r.id = c.id")
        fresh = f"{self._staging.rows} s"
        if swap.written != self._count(self._staging.rows):
            fresh += " JOIN usage_swap_write USING (number)"
        touch_records(f"SELECT key_set_id, usage_start, usage_end FROM {fresh}", {})
        self._run(f"INSERT INTO usage_record ({columns}, known_from_id) SELECT {columns}, %(import)s FROM {fresh}")
        place_new(f"SELECT DISTINCT key_set_id FROM {fresh}", {})
        self._reconcile(rebuild_touched(fresh), fresh)

    def _reconcile(self, moved: Sums, fresh: str) -> None:
        """The rollup must have moved by exactly what the file brought less what it replaced."""
        wanted: Sums = {}
        for sign, rows in ((1, fresh), (-1, "usage_record JOIN usage_swap_close USING (id)")):
            for currency, *sums in self._rows(f"SELECT currency, {SUMS_OF_COST} FROM {rows} GROUP BY currency"):
                add_sums(wanted, currency, sums, sign)
        if {key: sums for key, sums in moved.items() if any(sums)} != {
            key: sums for key, sums in wanted.items() if any(sums)
        }:
            raise UnreconciledError(f"stored {moved}, delivered {wanted}")

    def _activate(self, swap: Swap) -> None:
        touched = self._changed_final_scopes() if swap.changed else set()
        for scope in swap.scopes:
            scope.live = self._delivery
            scope.issued_at = self._delivery.ordered_by
            scope.save(update_fields=["live", "issued_at"])
            periods.delivered(
                scope, self._delivery, changed=scope.pk in touched, is_final=self._settings.final and bool(scope.month)
            )
        if swap.changed:
            self._source.changes += 1
            self._source.save(update_fields=["changes"])

    def _run(self, sql: str, **more: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, {**self._parameters, **more})

    def _rows(self, sql: str) -> list[tuple]:
        with connection.cursor() as cursor:
            cursor.execute(sql, self._parameters)
            return cursor.fetchall()

    def _count(self, table: str) -> int:
        return self._rows(f"SELECT count(*) FROM {table}")[0][0]


def known_now() -> datetime:
    """The database's clock at this moment, also inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
