"""Keys of rows as people and machines write them."""

from __future__ import annotations

import pytest

from core.keys import row_key


def test_plain_digits_are_a_key():
    assert row_key("12") == 12


@pytest.mark.parametrize("text", ["", "²", "１２", "-1", "1_0", " 1", "9" * 19])
def test_all_else_names_no_row(text):
    assert row_key(text) is None
