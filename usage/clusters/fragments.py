"""Free cards that lie in pieces: too few on one node for a job that needs them together. Pure.

A node of C cards of which jobs hold H has C − H free. Pieces of a size S (no more than C; C unless somebody sets it)
fit into them floor((C − H) ÷ S) times; the rest, (C − H) mod S, is **fragments**. A node that nobody uses has none.
Fragments are counted in card-hours, and apart for the time in which a job waited that needs S cards or more on a node:
then they are not only free but useless to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from operator import itemgetter

from .capacity import hours_between

PLACES = Decimal("0.000001")
"""Of parts of cards: what was held is taken off to the last digit when a job ends."""


@dataclass(frozen=True)
class Stay:
    """A job, on its nodes, and how long it waited before, where the log says so."""

    start: datetime
    end: datetime
    nodes: tuple[str, ...]
    cards: Decimal
    submitted: datetime | None = None

    @property
    def cards_on_a_node(self) -> Decimal:
        """Slurm does not say how many cards a job held on which node: as evenly as they divide."""
        return (self.cards / len(self.nodes)).quantize(PLACES)

    def held(self) -> Iterator[tuple[str, Decimal]]:
        """Whole cards go round: the first nodes hold one more."""
        if self.cards != self.cards.to_integral_value():
            yield from ((node, self.cards_on_a_node) for node in self.nodes)
            return
        each, more = divmod(int(self.cards), len(self.nodes))
        yield from ((node, Decimal(each + (place < more))) for place, node in enumerate(self.nodes))


@dataclass
class Pieces:
    """Card-hours of one day that lay in pieces, and of these those while a job waited that they cannot hold."""

    day: date
    hours: Decimal = Decimal(0)
    waited: Decimal = Decimal(0)


def peaks(stays: Sequence[Stay]) -> dict[str, Decimal]:
    """The most cards that jobs held on each node at once."""
    now: dict[str, Decimal] = {}
    most: dict[str, Decimal] = {}
    for _at, node, change in _changes(stays):
        now[node] = now.get(node, Decimal(0)) + change
        most[node] = max(most.get(node, Decimal(0)), now[node])
    return most


def pieces_by_day(
    stays: Sequence[Stay],
    cards_of: Mapping[str, int],
    days: Sequence[tuple[date, datetime, datetime]],
    size: int | None,
) -> list[Pieces]:
    """Fragments of the nodes on each day (date, begin, end; one after another); a size of None is the whole node."""
    found = [Pieces(day) for day, _begins, _ends in days]
    if not days:
        return found
    sizes = {node: min(size or cards, cards) for node, cards in cards_of.items()}
    smallest = min(sizes.values(), default=0)
    waits = [each for each in stays if each.submitted and each.submitted < each.start]
    events: list[tuple[datetime, str, Decimal]] = [
        *_changes(stays),
        *((at, WAITING, step) for each in waits if each.cards_on_a_node >= smallest for at, step in _wait(each)),
        *((ends, NEXT_DAY, Decimal(0)) for _day, _begins, ends in days),
    ]
    held: dict[str, Decimal] = {}
    lying = waiting = Decimal(0)
    at, number = days[0][1], 0
    for moment, what, change in sorted(events, key=itemgetter(0)):
        if moment > at and number < len(found):
            hours = lying * hours_between(at, moment)
            found[number].hours += hours
            found[number].waited += hours if waiting else 0
            at = moment
        if what == NEXT_DAY:
            number += 1
        elif what == WAITING:
            waiting += change
        else:
            before = held.get(what, Decimal(0))
            held[what] = before + change
            lying += rest(cards_of[what], held[what], sizes[what]) - rest(cards_of[what], before, sizes[what])
    return found


def rest(cards: int, held: Decimal, size: int) -> Decimal:
    """Free cards of a node that are left when pieces of a size were taken out; none of a node that nobody uses."""
    return max(cards - held, Decimal(0)) % size if held else Decimal(0)


WAITING, NEXT_DAY = "\0waiting", "\0day"
"""In place of the name of a node."""


def _changes(stays: Iterable[Stay]) -> list[tuple[datetime, str, Decimal]]:
    """What every node's held cards change by, in time; what ends makes room before the next begins."""
    found = [
        change
        for each in stays
        for node, cards in each.held()
        for change in ((each.start, node, cards), (each.end, node, -cards))
    ]
    return sorted(found, key=itemgetter(0, 2))


def _wait(stay: Stay) -> tuple[tuple[datetime, Decimal], tuple[datetime, Decimal]]:
    assert stay.submitted is not None
    return (stay.submitted, Decimal(1)), (stay.start, Decimal(-1))
