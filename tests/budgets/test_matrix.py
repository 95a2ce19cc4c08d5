from __future__ import annotations

from decimal import Decimal

from budgets.matrix import Rule, decisions_needed

DEFAULT = [Rule(1, "manager", None), Rule(2, "director", Decimal(500_000))]


def roles(rules, amounts, task_type="pretrain"):
    return [needed.role for needed in decisions_needed(rules, task_type, {k: Decimal(v) for k, v in amounts.items()})]


def test_up_to_the_amount_the_manager_decides_alone():
    assert roles(DEFAULT, {"compute": 400_000, "people_platform": 100_000}) == ["manager"]


def test_above_the_amount_the_director_decides_too():
    assert roles(DEFAULT, {"compute": 400_000, "people_platform": "100000.01"}) == ["manager", "director"]


def test_a_rule_of_a_category_looks_at_that_category_alone():
    rules = [*DEFAULT, Rule(3, "finance", Decimal(10_000), category="data")]

    assert roles(rules, {"compute": 90_000, "data": 10_000}) == ["manager"]
    assert roles(rules, {"compute": 90_000, "data": 10_001}) == ["manager", "finance"]


def test_a_rule_of_a_task_type_leaves_the_others_alone():
    rules = [Rule(1, "manager", None), Rule(2, "director", None, task_type="pretrain")]

    assert roles(rules, {"compute": 1}) == ["manager", "director"]
    assert roles(rules, {"compute": 1}, task_type="finetune") == ["manager"]


def test_a_role_decides_once_however_many_rules_ask_for_it():
    rules = [*DEFAULT, Rule(3, "manager", None, category="compute")]

    assert roles(rules, {"compute": 1}) == ["manager"]


def test_without_any_rule_a_manager_decides():
    assert roles([], {"compute": 1}) == ["manager"]
