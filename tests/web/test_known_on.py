"""Pages that answer as things were known at the end of a day, for whatever day somebody writes into the address."""

from __future__ import annotations

import pytest
from django.urls import reverse

LAST = "9999-12-31"


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("usage", f"known_on={LAST}"),
        ("storage", f"known_on={LAST}"),
        ("service-list", f"known_on={LAST}"),
        ("restatement-list", f"since=2026-01-01&until={LAST}"),
        ("restatement-list", f"since={LAST}"),
    ],
)
def test_the_last_day_there_is_has_an_end_too(stage, client, name, query):
    client.force_login(stage.finance)

    assert client.get(f"{reverse(name)}?{query}").status_code == 200


def test_a_statement_is_given_as_known_on_the_last_day_there_is(stage, client):
    client.force_login(stage.finance)

    answer = client.get(reverse("statement", args=[stage.team.slug, "2026-10"]) + f"?known_on={LAST}")

    assert answer.status_code == 200
