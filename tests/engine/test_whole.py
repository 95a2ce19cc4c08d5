"""Life plans, pools, memory, layouts, months, and the difference of two plans."""

from __future__ import annotations

from typing import Any

import pytest

from estimates.engine.difference import cause_of, difference
from estimates.engine.explain import UnknownQuantity, explain
from estimates.engine.plan import PlanRefused, parse_plan
from tests.engine.makers import CATALOGUE, PRICES, TODAY, changed, estimated, p50, pretrain

LAYERS = {"parameters": 1e9, "layers": 10, "hidden_size": 1000, "sequence_length": 2000}


def life(**changes: Any) -> dict[str, Any]:
    """Data work of two months, a run of 52 hours after it, and a store from the fourth month."""
    certain = {"reliability": "none", "experiments": "none"}
    document = {
        "name": "life",
        "task": "life",
        "currency": "USD",
        "start": "2027-01-01",
        "model_error": "none",
        "contingency": 0.1,
        "members": [
            {
                "name": "data",
                "task": "data_work",
                "data": {"licence_cost": 1000},
                "people": [{"role": "engineer", "fte": 1, "months": 2, "monthly_rate": 100}],
            },
            {
                "name": "run",
                "task": "pretrain",
                "after": "data",
                "model": {"parameters": 1e9},
                "data": {"tokens": 1e12},
                "compute": pretrain()["compute"],
                **certain,
            },
            {"name": "store", "task": "vector_store", "start_month": 3, "vectors": {"count": 1e6, "months": 2}},
        ],
    }
    return document | changes


def test_a_life_is_the_sum_of_its_members() -> None:
    answered = estimated(life())

    parts = [member["cost"]["total"]["mean"] for member in answered["members"]]
    assert len(parts) == 3
    assert answered["cost"]["total"]["mean"] == pytest.approx(sum(parts))
    assert answered["quantities"]["total_accelerator_hours"]["mean"] == pytest.approx(10_000 / 3)
    assert answered["ask"]["total"] == pytest.approx(1.1 * sum(parts), abs=0.01)


def explained(quantity: str, **changes: Any) -> dict[str, Any]:
    plan = parse_plan(life(**changes))
    return explain(plan, quantity, prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=50)


def test_the_explanation_of_a_life_leads_to_its_members() -> None:
    answered = estimated(life(), samples=50)

    tree = explained("total_cost")

    parts = {node["name"]: node["value"]["mean"] for node in tree["inputs"]}
    assert tree["value"] == {key: answered["cost"]["total"][key] for key in tree["value"]}
    assert tree["formula"] == "data.total_cost + run.total_cost + store.total_cost"
    assert sum(parts.values()) == pytest.approx(tree["value"]["mean"])
    assert [node["name"] for node in explained("total_accelerator_hours")["inputs"]] == ["run.total_accelerator_hours"]


def test_every_quantity_of_a_life_has_an_explanation_and_so_have_those_of_its_members() -> None:
    answered = estimated(life(), samples=50)

    for name, figures in answered["quantities"].items():
        assert explained(name)["value"]["p50"] == figures["p50"], name
    assert explained("run.elapsed_hours")["value"]["p50"] == pytest.approx(52.0833, abs=1e-3)
    with pytest.raises(UnknownQuantity, match="total_cost"):
        explained("goodput")


def test_members_of_a_life_keep_their_own_questions_to_the_price_table() -> None:
    members = [
        {"name": slug, "task": "pretrain", "model": {"parameters": 1e9}, "data": {"tokens": 1e12}, "compute": compute}
        for slug in ("a100-sxm-80gb", "h100-sxm-80gb")
        for compute in [{"accelerator": slug, "count": 64, "mfu": 0.4}]
    ]

    keys = estimated(life(members=members), samples=50)["price_keys"]

    assert {key[1] for key in keys if key[0] == "purchase"} == {"a100-sxm-80gb", "h100-sxm-80gb"}


def test_the_members_of_a_life_fall_on_its_months() -> None:
    answered = estimated(life())

    months = {month["month"]: month["by_line"] for month in answered["cost"]["by_month"]}
    assert [member["start_month"] for member in answered["members"]] == [0, 2, 3]
    assert months["2027-01"]["data"] == 1000
    assert months["2027-01"]["compute"] == months["2027-02"]["compute"] == 0
    assert months["2027-03"]["compute"] == pytest.approx(20_000 / 3)
    assert months["2027-04"]["storage"] > 0


@pytest.mark.parametrize(
    ("start", "days", "begins"),
    [
        ("2027-02-01", 28, "2027-03"),  # a whole February
        ("2027-02-01", 29, "2027-04"),  # one day of March: less than 730.5 hours, and yet April
        ("2028-02-01", 29, "2028-03"),  # a leap year
        ("2027-12-01", 31, "2028-01"),  # a whole December: 744 hours, and yet January
        ("2027-12-20", 20, "2028-02"),  # from 20 December to 8 January
    ],
)
def test_what_follows_a_run_begins_in_the_month_after_its_last_day(start: str, days: int, begins: str) -> None:
    document = life(start=start)
    _, run, store = document["members"]
    # 6 · 1e9 · D at 64 · 500 TFLOPS: D = 86,400 · days · 3.2e16 ÷ 6e9
    run = {**run, "data": {"tokens": 86_400 * days * 3.2e16 / 6e9}}
    del run["after"]
    document["members"] = [run, {**store, "start_month": 0, "after": "run"}]

    answered = estimated(document, samples=50)

    assert answered["members"][0]["quantities"]["elapsed_hours"]["p50"] == pytest.approx(24 * days)
    assert answered["cost"]["by_month"][answered["members"][1]["start_month"]]["month"] == begins


def test_months_that_are_planned_are_calendar_months() -> None:
    data, run, _ = life()["members"]

    first, middle = (
        estimated(life(start=day, members=[data, run]), samples=50) for day in ("2027-01-01", "2027-01-20")
    )

    # two months from 1 January end with February; from 20 January they end on 20 March
    assert first["members"][1]["start_month"] == 2
    assert middle["members"][1]["start_month"] == 3


def test_the_streams_of_two_members_are_their_own() -> None:
    ranged = {"low": 0.3, "mode": 0.5, "high": 0.7, "attention": "none"}
    document = life()
    document["members"] = [
        {**document["members"][1], "name": name, "after": None, "compute": {**pretrain()["compute"], "mfu": ranged}}
        for name in ("one", "two")
    ]
    for member in document["members"]:
        del member["after"]
    both = estimated(document)["cost"]["total"]
    alone = estimated(document)["members"][0]["cost"]["total"]

    assert both["p90"] - both["p10"] < 2 * (alone["p90"] - alone["p10"]) * 0.9


def test_unlike_pools_share_the_work_by_what_they_can_do() -> None:
    pools = [
        {"accelerator": "h100-sxm-80gb", "peak_tflops": 1000, "count": 30, "mfu": 0.5},
        {"accelerator": "a100-sxm-80gb", "peak_tflops": 250, "count": 20, "mfu": 0.5},
    ]
    answered = estimated(pretrain(compute={"pools": pools}))

    # 30 · 500 and 20 · 125 TFLOPS: 6/7 and 1/7 of 6e21 FLOP
    first, second = 6e21 * 6 / 7 / 5e14 / 3600, 6e21 / 7 / 1.25e14 / 3600
    assert p50(answered, "ideal_accelerator_hours") == pytest.approx(first + second)
    assert p50(answered, "compute_cost") == pytest.approx(first * 2 + second * 1)
    assert p50(answered, "elapsed_hours") == pytest.approx(first / 30)
    assert p50(answered, "idle_cost") == pytest.approx(0, abs=1e-6)
    reference = (first * 1000 + second * 250) / 989
    assert p50(answered, "equivalent_accelerator_hours") == pytest.approx(reference)


def test_a_pool_that_is_given_too_much_makes_the_others_wait() -> None:
    pools = [
        {"accelerator": "h100-sxm-80gb", "peak_tflops": 1000, "count": 10, "mfu": 0.5, "share": 0.5},
        {"accelerator": "a100-sxm-80gb", "peak_tflops": 500, "count": 10, "mfu": 0.5, "share": 0.5},
    ]
    answered = estimated(pretrain(compute={"pools": pools}))

    slow = 3e21 / 2.5e14 / 3600 / 10
    assert p50(answered, "elapsed_hours") == pytest.approx(slow)
    assert p50(answered, "idle_accelerator_hours") == pytest.approx(slow * 20 - 3e21 / 2.5e14 / 3600 * 1.5)


def test_a_pool_that_waits_costs_and_counts_what_it_is() -> None:
    pools = [
        {"accelerator": "h100-sxm-80gb", "peak_tflops": 1000, "count": 10, "mfu": 0.5, "share": 0.5},
        {"accelerator": "a100-sxm-80gb", "peak_tflops": 500, "count": 10, "mfu": 0.5, "share": 0.5},
    ]
    answered = estimated(pretrain(compute={"pools": pools}, reliability={"goodput": 0.8}))

    # the slow pool works 333.33 hours ÷ 0.8, ten cards at 1 an hour; the fast one half of it, at 2 an hour
    held = 3e21 / 2.5e14 / 3600 / 0.8
    assert p50(answered, "elapsed_hours") == pytest.approx(held / 10)
    assert p50(answered, "idle_cost") == pytest.approx(held / 2 * 2)
    assert p50(answered, "compute_cost") + p50(answered, "retries_cost") == pytest.approx(held * 1 + held / 2 * 2)
    assert p50(answered, "equivalent_accelerator_hours") == pytest.approx(held * (1000 + 500) / 989)


def test_pools_without_an_mfu_take_the_paid_hours_of_published_runs() -> None:
    compute = {"pools": [{"accelerator": "h100-sxm-80gb", "count": 64}]}
    document = pretrain(model={**LAYERS, "parameters": 7e9}, compute=compute, reliability={"goodput": 0.8})

    # 28.2 % of paid hours: attention and lost time are in the figure
    paid = 6 * 7e9 * 1e12 / 989e12 / 0.282 / 3600
    assert p50(estimated(document), "accelerator_hours") == pytest.approx(paid, rel=1e-4)


def test_a_pool_without_an_mfu_stands_beside_one_that_has_it() -> None:
    pools = [
        {"accelerator": "h100-sxm-80gb", "count": 64, "share": 0.5, "mfu": 0.5},
        {"accelerator": "h100-sxm-80gb", "count": 64, "share": 0.5},
    ]
    document = pretrain(model={"parameters": 7e9}, compute={"pools": pools}, reliability={"goodput": 0.8})

    # half of 6 · N · D each: lost hours come on top of the typed MFU only
    half = 3 * 7e9 * 1e12 / 989e12 / 3600
    expected = half / 0.5 / 0.8 + half / 0.282
    assert p50(estimated(document), "accelerator_hours") == pytest.approx(expected, rel=1e-4)


def test_the_typed_mfu_of_a_pool_does_not_feign_certainty() -> None:
    pools = [{"accelerator": "h100-sxm-80gb", "peak_tflops": 1000, "count": 64, "mfu": 0.5}]
    hours = estimated(pretrain(compute={"pools": pools}, model_error={}))["quantities"]["accelerator_hours"]

    # σ of 0.08: 10.8 % above the median at P90
    assert hours["p90"] / hours["p50"] == pytest.approx(1.108, abs=0.001)


def test_the_rungs_of_an_ablation_use_all_pools_and_let_none_wait() -> None:
    pools = [
        {"accelerator": "h100-sxm-80gb", "peak_tflops": 1000, "count": 30, "mfu": 0.5},
        {"accelerator": "a100-sxm-80gb", "peak_tflops": 250, "count": 20, "mfu": 0.5},
    ]
    rungs = [{"accelerator_hours": 100, "runs": 5}]
    answered = estimated(pretrain(task="ablation", compute={"pools": pools}, experiments=rungs))

    # 500 hours: 300 of them at 2, 200 at 1
    assert p50(answered, "elapsed_hours") == 10
    assert p50(answered, "idle_accelerator_hours") == 0
    assert p50(answered, "experiments_cost") == pytest.approx(800)


def test_sixteen_bytes_a_parameter_and_the_activations_must_fit() -> None:
    answered = estimated(pretrain(model=LAYERS))

    assert p50(answered, "model_state_gb") == 16
    # 34 · 2000 · 1000 · 10 bytes
    assert p50(answered, "activation_gb") == pytest.approx(0.68)
    assert p50(answered, "memory_sharded_gb") == pytest.approx(16 / 64 + 0.68)
    assert p50(answered, "memory_fits") == 1
    layouts = {row["layout"]: row["fits"] for row in answered["memory"]["layouts"]}
    assert layouts == {"replicated": True, "planned": True, "sharded": True}


def test_a_model_that_grows_needs_the_memory_of_what_it_becomes() -> None:
    stages = [{"parameters": 1e9, "tokens": 1e11}, {"parameters": 400e9, "tokens": 1e11}]
    answered = estimated(pretrain(model={"stages": stages}, data={}), samples=50)

    # 16 · 400e9 bytes over 64 cards of 80 GB
    assert p50(answered, "model_state_gb") == 6400
    assert p50(answered, "memory_needed_gb") == 100
    assert p50(answered, "memory_fits") == 0


def test_memory_fits_where_the_tightest_pool_holds_it() -> None:
    # 128 GB of state, 51 GB of activations, 16 cards: 59 GB a card
    model = {"parameters": 8e9, "layers": 50, "hidden_size": 10_000, "sequence_length": 3000}
    large, small = (
        {"accelerator": "h100-sxm-80gb", "count": 8, "mfu": 0.4},
        {"accelerator": "a100-sxm-80gb", "count": 8, "mfu": 0.4, "memory_gb": 40},
    )
    unknown = {"peak_tflops": 500, "count": 8, "mfu": 0.4, "price_per_accelerator_hour": 1}

    def fits(*pools: dict[str, Any]) -> Any:
        return estimated(pretrain(model=model, compute={"pools": list(pools)}), samples=50)

    assert p50(fits(large, large), "memory_fits") == 1
    assert p50(fits(large, small), "memory_fits") == 0
    assert p50(fits(small, unknown), "memory_fits") == 0
    assert p50(fits(large, unknown), "memory_fits") is None
    memory = fits(large, small)["memory"]
    assert memory["available_gb"] == 40
    assert {row["layout"]: row["needed_gb"] for row in memory["layouts"]}["sharded"] == pytest.approx(59)


@pytest.mark.parametrize(("parameters", "fits"), [(200e9, 1), (400e9, 0)])
def test_a_service_on_pools_fits_where_the_smallest_card_holds_its_part(parameters: float, fits: int) -> None:
    # 400 or 800 GB of weights on 16 cards are 25 or 50 GB each; nine tenths of 40 GB are usable
    pools = [
        {"accelerator": "h100-sxm-80gb", "count": 8, "mfu": 0.4},
        {"accelerator": "a100-sxm-80gb", "count": 8, "mfu": 0.4, "memory_gb": 40},
    ]
    inference = {"kind": "encoder", "requests_per_day": 1e6, "input_tokens": 500}
    document = pretrain(
        task="inference", model={"parameters": parameters}, compute={"pools": pools}, inference=inference
    )
    answered = estimated(document, samples=50)

    assert p50(answered, "memory_fits") == fits
    message = "The model needs 50 GB of memory per accelerator; those of the pool a100-sxm-80gb have 40 GB."
    said = [warning["message"] for warning in answered["warnings"] if warning["code"] == "pool_does_not_fit"]
    assert said == ([] if fits else [message])


def test_the_platform_is_paid_for_the_run_and_without_a_run_for_the_months_of_people() -> None:
    people = [{"role": "research engineer", "fte": 1, "months": 4}]
    fee = {"platform_fee_per_month": 7305}

    # 52.08 hours of 730.5 at 7,305 a month are 10 an hour
    run = estimated(pretrain(people=people, operations=fee), samples=50)
    assert p50(run, "platform_cost") == pytest.approx(520.8333, rel=1e-6)
    assert p50(run, "people_cost") == 80_000

    work = {"name": "data", "task": "data_work", "currency": "USD", "start": "2027-01-01"}
    assert p50(estimated({**work, "people": people, "operations": fee}, samples=50), "platform_cost") == 4 * 7305


def test_a_pipeline_with_few_microbatches_slows_a_run_that_no_one_measured() -> None:
    compute = {"accelerator": "h100-sxm-80gb", "count": 64, "parallelism": {"pipeline": 4, "microbatches": 9}}
    answered = estimated(pretrain(model=LAYERS, compute=compute))

    assert p50(answered, "pipeline_bubble") == pytest.approx(3 / 12)
    plain = estimated(pretrain(model=LAYERS, compute={"accelerator": "h100-sxm-80gb", "count": 64}))
    assert p50(answered, "accelerator_hours") == pytest.approx(p50(plain, "accelerator_hours") * 0.95 / 0.75)


def test_a_run_over_new_year_falls_on_the_months_by_its_hours() -> None:
    # 4 cards: 833.33 hours from 17 December: 360 in December, 473.33 in January
    months = estimated(pretrain(start="2026-12-17", compute__count=4))["cost"]["by_month"]

    assert [month["month"] for month in months[:2]] == ["2026-12", "2027-01"]
    assert months[0]["by_line"]["compute"] == pytest.approx(360 * 4 * 2)
    assert months[1]["by_line"]["compute"] == pytest.approx((2500 / 3 - 360) * 4 * 2)


def test_data_that_ten_projects_use_is_paid_whole_and_carried_by_a_tenth() -> None:
    cost = estimated(pretrain(data__licence_cost=1000, data__reusable_for_projects=10))["cost"]

    assert cost["by_cause"]["data"]["mean"] == 1000
    assert cost["total"]["mean"] - cost["amortised_total"]["mean"] == pytest.approx(900)


def compared(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return difference(
        parse_plan(first), parse_plan(second), prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=50
    )


def test_a_difference_is_told_by_cause_and_adds_up() -> None:
    bare = pretrain(
        storage={"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0}, compute__price_per_accelerator_hour=2
    )
    other = changed(
        bare,
        data__tokens=2e12,
        compute__mfu={"value": 0.4, "attention": "none"},
        compute__price_per_accelerator_hour=3,
        people=[{"role": "engineer", "fte": 1, "months": 1, "monthly_rate": 700}],
    )

    found = compared(bare, other)

    hours = 10_000 / 3
    causes = {item["cause"]: item["amount"] for item in found["causes"]}
    assert causes["scope"] == 700
    assert causes["volume"] == pytest.approx(hours * 2, abs=0.01)
    assert causes["efficiency"] == pytest.approx(hours * 2 * 2 * 0.25, abs=0.01)
    assert causes["price"] == pytest.approx(hours * 2 * 1.25, abs=0.01)
    assert sum(causes.values()) == pytest.approx(found["difference"], abs=1e-9)


def test_a_step_of_which_no_total_is_known_counts_with_the_next() -> None:
    # reserved H100 cards for A100 cards on demand: in between lie reserved A100 cards, of which there is no price
    free = {"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0}
    first = pretrain(storage=free, compute__mode="committed", compute__committed={"count": 64, "hours": 100})
    second = pretrain(storage=free, compute__accelerator="a100-sxm-80gb")

    found = compared(first, second)

    # 64 · 100 · 1.20 reserved, 3,333.33 · 1.00 on demand
    causes = {item["cause"]: item["amount"] for item in found["causes"]}
    assert (found["from"], found["to"]) == (7680, pytest.approx(3333.33, abs=0.01))
    assert causes["efficiency"] == 0
    assert sum(causes.values()) == pytest.approx(found["difference"], abs=1e-9)


def test_a_plan_does_not_differ_from_itself() -> None:
    found = compared(pretrain(), pretrain())

    assert found["difference"] == 0
    assert all(item["amount"] == 0 for item in found["causes"])


def test_two_tasks_differ_in_scope() -> None:
    found = compared(pretrain(), pretrain(task="evaluation", evaluation={"tokens": 1e9, "times": 1}))

    causes = {item["cause"]: item["amount"] for item in found["causes"]}
    assert causes["scope"] == found["difference"]


def test_a_cut_of_compliance_between_two_versions_is_called_out() -> None:
    found = compared(pretrain(data__compliance_cost=1000), pretrain(data__compliance_cost=100))

    assert [warning["code"] for warning in found["warnings"]] == ["protected_cost_cut"]


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("data.tokens", "volume"),
        ("compute.mfu", "efficiency"),
        ("compute.price_per_accelerator_hour", "price"),
        ("data.licence_cost", "price"),
        ("people", "scope"),
        ("inference.batch", "efficiency"),
        ("inference.requests_per_day", "volume"),
    ],
)
def test_every_input_has_a_cause(path: str, cause: str) -> None:
    assert cause_of(path) == cause


def refused(document: dict[str, Any]) -> set[str]:
    with pytest.raises(PlanRefused) as refusal:
        estimated(document)
    return {fault.path for fault in refusal.value.faults}


def test_an_accelerator_that_nobody_knows_is_refused_unless_its_peak_is_given() -> None:
    assert refused(pretrain(compute={"accelerator": "b9000", "count": 8, "mfu": 0.4})) == {"compute.accelerator"}
    assert estimated(pretrain(compute__accelerator="b9000", compute__price_per_accelerator_hour=1))["feasible"]


def test_a_precision_that_the_accelerator_lacks_is_refused() -> None:
    compute = {"accelerator": "a100-sxm-80gb", "count": 8, "mfu": 0.4, "precision": "fp8"}

    assert refused(pretrain(compute=compute)) == {"compute.precision"}


def test_own_cards_without_a_power_are_refused_rather_than_run_for_free() -> None:
    own = {"capital": 1, "life_hours": 1000, "occupancy": 1, "pue": 1, "electricity_price": 1}
    compute = {"peak_tflops": 1000, "memory_gb": 80, "count": 8, "mfu": 0.4, "mode": "own", "own": own}

    assert "compute.own.board_kw" in refused(pretrain(compute=compute))


def test_a_decoder_without_layers_is_refused_rather_than_served_without_a_cache() -> None:
    document = pretrain(task="inference", inference={"requests_per_day": 1000, "input_tokens": 10, "output_tokens": 10})

    assert "inference.kv_bytes_per_token" in refused(document)


def test_no_number_of_cards_meets_a_deadline_that_has_passed() -> None:
    document = pretrain(deadline="2020-01-01")
    del document["start"]

    answered = estimated(document)

    assert answered["quantities"]["count_for_deadline"]["p50"] is None
    assert answered["probability"]["misses_deadline"] == 1


def test_the_weights_of_a_teacher_need_memory_too() -> None:
    answered = estimated(pretrain(model={"parameters": 1e9, "teacher_parameters": 1e10}))

    # 16 bytes of each parameter, and 2 of each of the teacher
    assert p50(answered, "model_state_gb") == pytest.approx(16 + 20)
