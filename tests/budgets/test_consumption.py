"""Which commitments metered cost has used up: tables worked out by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from budgets.consumption import Commitment, standing, unconsumed_by_day


def remaining(commitments, *, released=None, own=None, others=0, **options):
    held = standing(
        [Commitment(reference, Decimal(amount), Decimal(spent)) for reference, amount, spent in commitments],
        {key: Decimal(amount) for key, amount in (released or {}).items()},
        {key: Decimal(amount) for key, amount in (own or {}).items()},
        Decimal(others),
        **options,
    )
    return {reference: promise.remaining for reference, promise in held.promises.items()}


def test_own_work_consumes_its_own_commitment_and_no_other():
    assert remaining([("P-1", 100, 0), ("P-2", 50, 0)], own={"P-2": 80}) == {"P-1": 100, "P-2": 0}


def test_other_cost_consumes_open_commitments_oldest_first():
    assert remaining([("P-1", 100, 0), ("P-2", 50, 0)], others=120) == {"P-1": 0, "P-2": 30}


def test_cost_known_before_a_commitment_does_not_consume_it():
    assert remaining([("P-1", 100, 600)], others=600) == {"P-1": 100}
    assert remaining([("P-1", 100, 600)], others=640) == {"P-1": 60}


def test_a_later_commitment_is_not_consumed_by_what_the_first_was_consumed_by():
    # 50 came before P-2: P-1 takes the stream from 0 to 100, P-2 only what lies beyond
    assert remaining([("P-1", 100, 0), ("P-2", 100, 50)], others=120) == {"P-1": 0, "P-2": 80}


def test_the_stream_passes_by_when_the_older_commitment_is_full():
    # P-1 takes 0 to 10; 10 to 50 found nothing open; P-2 takes 50 to 60
    assert remaining([("P-1", 10, 0), ("P-2", 100, 50)], others=60) == {"P-1": 0, "P-2": 90}


def test_other_cost_consumes_nothing_where_that_is_switched_off():
    assert remaining([("P-1", 100, 0)], others=60, own={"P-1": 30}, others_consume=False) == {"P-1": 70}


def test_own_work_leaves_less_for_other_cost_to_consume():
    assert remaining([("P-1", 100, 0), ("P-2", 100, 0)], own={"P-1": 80}, others=50) == {"P-1": 0, "P-2": 70}


def test_what_was_released_is_not_consumed_again():
    assert remaining([("P-1", 100, 0), ("P-2", 100, 0)], released={"P-1": 40}, others=80) == {"P-1": 0, "P-2": 80}


def test_a_restatement_downwards_opens_the_commitment_again():
    assert remaining([("P-1", 100, 20)], others=10) == {"P-1": 100}


def test_a_credit_on_own_work_consumes_nothing():
    assert remaining([("P-1", 100, 0)], own={"P-1": -5}) == {"P-1": 100}


def test_a_closed_proposal_holds_nothing_even_after_a_restatement():
    assert remaining([("P-1", 100, 0)], released={"P-1": 40}, own={"P-1": 30}, closed={"P-1"}) == {"P-1": 0}


def test_each_day_keeps_what_consumed_nothing():
    days = {date(2027, 1, 1): Decimal(30), date(2027, 1, 2): Decimal(30), date(2027, 1, 3): Decimal(40)}
    found = standing([Commitment("P-1", Decimal(50), Decimal(20))], {}, {}, Decimal(100))

    # the stream runs 0-30-60-100; P-1 used up 20 to 70
    assert found.consumed == ((20, 70),)
    assert unconsumed_by_day(days, found.consumed, Decimal(100)) == {
        date(2027, 1, 1): 20,
        date(2027, 1, 2): 0,
        date(2027, 1, 3): 30,
    }


amounts = st.integers(0, 200).map(Decimal)


@given(
    st.lists(st.tuples(st.sampled_from(["P-1", "P-2", "P-3"]), st.integers(1, 200), amounts), max_size=6),
    amounts,
    amounts,
    st.dictionaries(st.sampled_from(["P-1", "P-2", "P-3"]), amounts),
)
def test_more_cost_never_frees_more_than_it_costs(commitments, others, more, own):
    """Committed falls by at most what was spent, so that headroom never rises by spending."""
    ordered = sorted(commitments, key=lambda row: row[2])
    before = sum(remaining(ordered, own=own, others=others).values(), Decimal(0))
    after = sum(remaining(ordered, own=own, others=others + more).values(), Decimal(0))

    assert before - more <= after <= before


def test_what_a_closed_proposal_used_up_stands_however_its_cost_is_restated():
    # P-1 was closed with 80 of its own cost and 20 of the stream; the other 30 of the stream consumed P-2
    held = [("P-1", 100, 0), ("P-2", 50, 0)]
    then = {"own_at_closing": {"P-1": Decimal(80)}, "closed": {"P-1"}, "others": 50}

    assert remaining(held, own={"P-1": 80}, **then) == {"P-1": 0, "P-2": 20}
    assert remaining(held, own={"P-1": 10}, **then) == {"P-1": 0, "P-2": 20}
    assert remaining(held, own={"P-1": 130}, **then) == {"P-1": 0, "P-2": 20}
