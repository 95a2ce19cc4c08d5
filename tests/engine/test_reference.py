"""The generated page of quantities is current, and the graph is whole."""

from __future__ import annotations

from pathlib import Path

from estimates.engine import reference
from estimates.engine.quantities import MODULES, QUANTITIES


def test_the_page_of_quantities_is_current() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page()


def test_the_notes_for_translation_are_current() -> None:
    assert reference.NOTES.read_text(encoding="utf-8") == reference.notes()


def test_every_quantity_has_words_in_both_languages_a_unit_and_an_account_of_itself() -> None:
    for item in QUANTITIES.values():
        for way in (item, *item.variants):
            assert way.english and way.chinese and way.unit and way.about, way.name


def test_every_cost_says_how_it_falls_on_the_months() -> None:
    for item in QUANTITIES.values():
        if item.is_cost:
            assert item.spread in QUANTITIES and QUANTITIES[item.spread].axis == "month", item.name
            assert item.behaviour in ("one_off", "recurring", "fixed", "marginal", "elastic", "run"), item.name


def test_no_module_of_quantities_is_longer_than_three_hundred_lines() -> None:
    for module in MODULES:
        assert module.__file__ is not None
        assert len(Path(module.__file__).read_text(encoding="utf-8").splitlines()) <= 300
