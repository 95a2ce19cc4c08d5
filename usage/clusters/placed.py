"""Jobs on their nodes, as the log names them, and the free cards that lay in pieces between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.db import connection

from core.months import days_between, midnight
from teams.models import Organisation

from ..models import Meaning
from .capacity import CardDay
from .fragments import PLACES, Pieces, Stay, peaks, pieces_by_day
from .hostlists import nodes_of
from .models import Cluster
from .queries import SUBMITTED, kinds_of

LONGEST_WAIT = timedelta(days=31)
"""A job that waited longer is looked for no further ahead than this."""
STAYS = f"""
    SELECT coalesce(nullif(k.partition, ''), m.sku), m.accelerator, r.usage_start, r.usage_end, r.accelerator_hours,
           coalesce(r.extra->>'NodeList', r.extra->>'nodes', k.extra->>'node', ''), {SUBMITTED}
    FROM usage_record r JOIN usage_keyset k ON k.id = r.key_set_id JOIN usage_meter m ON m.id = k.meter_id
    WHERE r.known_until_id IS NULL AND k.source_id = %(source)s AND (%(cluster)s = '' OR k.cluster = %(cluster)s)
      AND r.accelerator_hours > 0 AND r.usage_end > %(start)s AND r.usage_start < %(last)s
      AND (r.usage_start < %(end)s OR {SUBMITTED} < extract(epoch FROM %(end)s::timestamptz))
"""
HOUR = Decimal(3600)


@dataclass(frozen=True)
class Fragments:
    """One kind of card: its pieces by day, or why nothing can be said of them."""

    accelerator: str
    size: int | None = None
    """The piece a job wants; None where nodes of several sizes are taken whole."""
    days: list[Pieces] = field(default_factory=list)
    nodeless: Decimal = Decimal(0)
    """Card-hours of jobs whose nodes the log does not name: with any of them the free cards of no node are known."""
    is_node_known: bool = True
    """Whether the register says how many cards a node has."""

    @property
    def is_known(self) -> bool:
        return not self.nodeless and self.is_node_known

    @property
    def hours(self) -> Decimal:
        return sum((each.hours for each in self.days), Decimal(0))

    @property
    def waited(self) -> Decimal:
        return sum((each.waited for each in self.days), Decimal(0))


def fragments_of(cluster: Cluster, idle: Sequence[CardDay], size: int | None = None) -> list[Fragments]:
    """Fragments of the days of `idle` (one after another, at most some months), kind by kind of the register.

    Never more than what was idle on a day: a maintenance says of no node that it stood still.
    """
    days = sorted({each.day for each in idle})
    if not days:
        return []
    stays = stays_by_kind(cluster, days[0], days[-1] + timedelta(days=1))
    sizes: dict[str, set[int | None]] = {}
    for kind, cards in cluster.lots.values_list("accelerator__slug", "cards_per_node"):
        sizes.setdefault(kind, set()).add(cards)
    found = []
    for kind, of_nodes in sorted(sizes.items()):
        known = {cards for cards in of_nodes if cards}
        own, nodeless = stays.get(kind, ([], Decimal(0)))
        if nodeless or len(known) < len(of_nodes):
            found.append(Fragments(kind, nodeless=nodeless, is_node_known=len(known) == len(of_nodes)))
            continue
        free = {each.day: each.idle for each in idle if each.accelerator == kind}
        whole = max(known) if len(known) == 1 else None
        found.append(Fragments(kind, size or whole, _pieces(own, known, free, size)))
    return found


def _pieces(stays: Sequence[Stay], sizes: set[int], free: dict[date, Decimal], size: int | None) -> list[Pieces]:
    zone = Organisation.current().zone
    days = [
        (day, midnight(day, zone).astimezone(UTC), midnight(day + timedelta(days=1), zone).astimezone(UTC))
        for day in days_between(min(free), max(free) + timedelta(days=1))
    ] if free else []  # fmt: skip
    cards_of = {
        node: min((cards for cards in sizes if cards >= peak), default=max(sizes))
        for node, peak in peaks(stays).items()
    }
    found = pieces_by_day(stays, cards_of, days, size)
    for each in found:
        each.hours = min(each.hours, free.get(each.day, Decimal(0)))
        each.waited = min(each.waited, each.hours)
    return found


def stays_by_kind(cluster: Cluster, start: date, end: date) -> dict[str, tuple[list[Stay], Decimal]]:
    """Jobs that held cards in the half-open days or waited for them, and the card-hours of those without nodes."""
    zone, kind_of = Organisation.current().zone, kinds_of(cluster)
    begins, ends = midnight(start, zone), midnight(end, zone)
    found: dict[str, tuple[list[Stay], Decimal]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            STAYS,
            {
                "source": cluster.source_id,
                "cluster": cluster.log_name,
                "start": begins,
                "end": ends,
                "last": ends + LONGEST_WAIT,
            },
        )
        for partition, card, began, ended, hours, listed, submitted in cursor:
            kind = kind_of(partition, card)
            stays, nodeless = found.setdefault(kind, ([], Decimal(0)))
            nodes = nodes_of(listed) if cluster.source.meaning == Meaning.LOG else ()
            if nodes:
                cards = hours * HOUR / Decimal((ended - began).total_seconds())
                at = datetime.fromtimestamp(submitted, UTC) if submitted is not None else None
                stays.append(Stay(began, ended, nodes, cards.quantize(PLACES).normalize(), at))
            else:
                found[kind] = (stays, nodeless + hours)
    return found
