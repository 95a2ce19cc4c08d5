"""`manage.py estimate` and `manage.py import_prices`, as outside checks call them."""

from __future__ import annotations

import io
import json
import sys
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from estimates.baselines.services import Figure, record_baseline
from estimates.models import Price
from teams.models import Organisation
from tests.estimates import factories


@pytest.fixture
def book(stage):
    factories.accelerator()
    factories.price(amount="2")
    return stage


def run(*arguments: str) -> tuple[int, list[dict], str]:
    """Exit status, JSON lines and messages of a command."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(ended.code or 0), [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()
    return 0, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()


def write(folder, file_name: str, **changes) -> str:
    file = folder / file_name
    file.write_text(json.dumps(factories.plan(**changes)))
    return str(file)


def test_several_plans_give_one_line_each_in_order(book, tmp_path):
    first, second = write(tmp_path, "a.json", name="first"), write(tmp_path, "b.json", name="second")

    status, lines, _messages = run("estimate", first, second, "--json", "--samples", "100")

    assert status == 0
    assert [line["plan"] for line in lines] == ["first", "second"]
    assert lines[0]["samples"] == 100


def test_a_refused_plan_is_told_and_the_others_go_on(book, tmp_path):
    bad, good = write(tmp_path, "bad.json", data={"tokens": -1}), write(tmp_path, "good.json")

    status, lines, _messages = run("estimate", bad, good, "--json")

    assert status == 1
    assert [error["path"] for error in lines[0]["errors"]] == ["data.tokens"]
    assert set(lines[0]["errors"][0]) >= {"path", "value", "message", "accepted"}
    assert lines[1]["plan"] == "base"


def test_faults_are_told_in_the_language_of_the_terminal(book, tmp_path, monkeypatch):
    bad = write(tmp_path, "bad.json", data={"tokens": 0})
    monkeypatch.setenv("LANGUAGE", "zh_CN:zh")

    _status, lines, _messages = run("estimate", bad, "--json")

    assert lines[0]["errors"][0]["message"] == "0 过低。"
    assert lines[0]["errors"][0]["code"] == "below"


def test_json_lines_are_read_from_standard_input(book, monkeypatch):
    text = "\n".join([json.dumps(factories.plan(name="one")), "", "{broken", json.dumps(factories.plan(name="two"))])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    status, lines, _messages = run("estimate", "-", "--json", "--samples", "100")

    assert status == 1
    assert [line["plan"] for line in lines] == ["one", "line 3", "two"]


def test_prices_are_those_of_the_day(book, tmp_path):
    factories.price(amount="4", valid_from="2026-10-01")
    plan = write(tmp_path, "a.json", start="2026-02-01")

    _status, lines, _messages = run("estimate", plan, "--json", "--prices-on", "2026-03-01")

    assert lines[0]["prices_on"] == "2026-03-01"
    assert lines[0]["cost"]["total"]["mean"] == pytest.approx(2000.2, abs=0.01)


def test_on_a_past_day_prices_that_start_later_are_not_seen(book, tmp_path):
    # 1,000.10 hours from May on: at 2 as seen in March 2026, at 4 with the row that starts in April
    factories.price(amount="4", valid_from="2026-04-01")
    plan = write(tmp_path, "a.json", start="2026-05-01")

    _status, past, _messages = run("estimate", plan, "--json", "--prices-on", "2026-03-01")
    _status, present, _messages = run("estimate", plan, "--json")

    assert past[0]["cost"]["total"]["mean"] == pytest.approx(2000.2, abs=0.01)
    assert [row["amount"] for row in past[0]["prices"]] == [2.0]
    assert present[0]["cost"]["total"]["mean"] == pytest.approx(4000.4, abs=0.02)


def test_announced_prices_hold_for_the_months_they_start_in(book, tmp_path):
    today = Organisation.current().today(timezone.now())
    factories.price(amount="4", valid_from=(today + timedelta(days=30)).isoformat())
    plan = write(tmp_path, "a.json", start=(today + timedelta(days=60)).isoformat())

    totals = [
        run("estimate", plan, "--json", *asked)[1][0]["cost"]["total"]["mean"]
        for asked in ([], ["--prices-on", today.isoformat()], ["--prices-on", (today - timedelta(1)).isoformat()])
    ]

    assert totals == pytest.approx([4000.4, 4000.4, 2000.2], abs=0.02)


def test_differences_and_explanations_of_a_past_day_see_what_was_seen_then(book, tmp_path):
    factories.price(amount="4", valid_from="2026-04-01")
    first = write(tmp_path, "a.json", start="2026-05-01")
    second = write(tmp_path, "b.json", start="2026-05-01", data={"tokens": "6.7824e10"})

    _status, told, _messages = run("estimate", first, second, "--diff", "--json", "--prices-on", "2026-03-01")
    _status, why, _messages = run("estimate", first, "--explain", "total_cost", "--json", "--prices-on", "2026-03-01")

    assert told[0]["difference"] == pytest.approx(2000.2, abs=0.05)
    assert why[0]["explanation"]["value"]["p50"] == pytest.approx(2000.2, abs=0.01)


def test_the_difference_of_two_plans_adds_up(book, tmp_path):
    first, second = write(tmp_path, "a.json"), write(tmp_path, "b.json", data={"tokens": "6.7824e10"})

    status, lines, _messages = run("estimate", first, second, "--diff", "--json")

    assert status == 0
    assert lines[0]["difference"] == pytest.approx(2000.2, abs=0.05)
    assert sum(cause["amount"] for cause in lines[0]["causes"]) == pytest.approx(lines[0]["difference"])
    assert [cause["cause"] for cause in lines[0]["causes"] if cause["amount"]] == ["volume"]


def test_an_explanation_is_a_tree(book, tmp_path):
    status, lines, _messages = run(
        "estimate", write(tmp_path, "a.json"), "--explain", "ideal_accelerator_hours", "--json"
    )

    assert status == 0
    assert lines[0]["explanation"]["name"] == "ideal_accelerator_hours"
    assert lines[0]["explanation"]["inputs"]


def test_an_unknown_quantity_is_refused(book, tmp_path):
    status, lines, _messages = run("estimate", write(tmp_path, "a.json"), "--explain", "happiness", "--json")

    assert status == 1
    assert "happiness" in lines[0]["errors"][0]["message"]


@pytest.mark.parametrize(
    "arguments", [["nowhere.yaml"], ["{plan}", "--diff"], ["{plan}", "--samples", "0"], ["{plan}", "--prices-on", "x"]]
)
def test_a_wrong_call_is_an_error_of_its_own(book, tmp_path, arguments):
    plan = write(tmp_path, "a.json")

    with pytest.raises(CommandError):
        call_command("estimate", *(argument.format(plan=plan) for argument in arguments))


def test_a_price_file_is_imported_and_says_what_it_did(book, tmp_path):
    file = tmp_path / "prices.csv"
    file.write_text("kind,item,mode,amount,currency,valid_from\naccelerator,h100,spot,1.25,USD,2026-01-01\n")

    preview = run("import_prices", str(file), "--preview", "--json")
    written = run("import_prices", str(file), "--by", "keeper@example.com", "--json")

    assert preview[:2] == (0, [{"file": str(file), "counts": {"new": 1}, "drafts": 0}])
    assert written[1][0]["added"] == 1
    assert Price.objects.get(mode="spot").by == book.keeper


def test_a_bad_price_file_changes_nothing(book, tmp_path):
    file = tmp_path / "prices.csv"
    file.write_text("kind,item,amount,currency,valid_from\naccelerator,h100,cheap,USD,2026-01-01\n")

    status, lines, _messages = run("import_prices", str(file), "--json")

    assert status == 1
    assert lines[0]["errors"][0]["path"] == "line 2, amount"
    assert Price.objects.count() == 1


def test_the_team_whose_past_runs_count_is_named(book, tmp_path):
    columns = {"runs": 2, "since": date(2026, 1, 1), "until": date(2026, 2, 1), "source": "look back"}
    figure = Figure(quantity="compute.paid_mfu", value=Decimal("0.31"), **columns)
    record_baseline(figure, by=book.manager, team=book.team)
    compute = {"accelerator": "h100-sxm-80gb", "count": 8, "mfu": "baseline"}
    file = write(tmp_path, "a.json", compute=compute)

    _status, [own], _messages = run("estimate", file, "--json", "--samples", "50", "--team", "foundation")
    _status, [without], _messages = run("estimate", file, "--json", "--samples", "50")

    assert [row["runs"] for row in own["baselines"]] == [2]
    assert without["baselines"] == []
    with pytest.raises(CommandError, match="foundation, search") as refused:
        run("estimate", file, "--json", "--team", "nobody")
    assert refused.value.returncode == 2
