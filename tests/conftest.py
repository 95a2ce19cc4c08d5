"""The stage on which tests play: two teams, every role, and rows that must never matter."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings

from teams.models import Role
from tests import factories

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
"""No test fails because a machine is busy."""


default_matrix = import_module("budgets.migrations.0002_default_matrix")
empty_tables = TransactionTestCase._fixture_teardown


def empty_tables_and_fill_in(test: TransactionTestCase) -> None:
    """A test with transactions of its own leaves all tables empty: what migrations wrote goes back in for the next."""
    empty_tables(test)
    default_matrix.add_default_matrix(apps, None)


TransactionTestCase._fixture_teardown = empty_tables_and_fill_in


@pytest.fixture(autouse=True)
def fast_passwords(settings) -> None:
    """Hashing as slowly as a real installation does would be most of the time of the tests."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True, scope="session")
def static_files_found_when_asked() -> None:
    """Every client of a test would list all static files first, which takes as long as the page it asks for."""
    django_settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def stage(db) -> SimpleNamespace:
    """Alice owns, Bob is on her team, Charlie is on another team and must see nothing."""
    factories.organisation()
    team, other_team = factories.team("Foundation"), factories.team("Search")
    people = {
        name: factories.user(f"{name}@example.com") for name in ("alice", "bob", "charlie", "manager", "other_manager")
    }
    for name in ("alice", "bob"):
        factories.member(people[name], team, Role.MEMBER)
    factories.member(people["charlie"], other_team, Role.MEMBER)
    factories.member(people["manager"], team, Role.MANAGER)
    factories.member(people["other_manager"], other_team, Role.MANAGER)
    for name, role in {
        "director": Role.DIRECTOR,
        "finance": Role.FINANCE,
        "keeper": Role.PRICE_KEEPER,
        "operator": Role.OPERATOR,
        "auditor": Role.AUDITOR,
    }.items():
        people[name] = factories.user(f"{name}@example.com")
        factories.member(people[name], None, role)
    return SimpleNamespace(
        **people,
        team=team,
        other_team=other_team,
        project=factories.project(team, "Base 7B"),
        other_project=factories.project(other_team, "Ranking"),
    )
