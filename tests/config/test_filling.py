"""The database of the demo: filled once, never over other data, begun again when it was interrupted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from config import filling
from config.console import Refusal
from config.servers.account import service_account
from config.servers.ground import Ground, open_ground
from tests import factories
from tests.config.places import manage, open_folder

LOGINS = [("researcher", "researcher@example.com", "secret")]


@pytest.fixture
def ground() -> Iterator[Ground]:
    with open_folder() as folder:
        yield open_ground(folder / "var", service_account())


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example organisation of one person, as quick as a test wants it."""
    module = ModuleType("config.demo")

    def fill() -> list[tuple[str, str, str]]:
        factories.user("researcher@example.com")
        return LOGINS

    module.fill = fill  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "config.demo", module)
    monkeypatch.delenv("HEADROOM_DEMO_PASSWORD", raising=False)
    return module


@pytest.mark.django_db
def test_an_empty_database_is_filled_and_marked(ground: Ground, example: ModuleType) -> None:
    logins = filling.fill(ground, is_alone=True)

    assert logins == LOGINS
    assert filling._mark() == filling.FILLED


@pytest.mark.django_db
def test_other_data_is_refused_and_stays_unmarked(ground: Ground, example: ModuleType) -> None:
    factories.user("somebody@example.com")

    with pytest.raises(Refusal, match="holds other data"):
        filling.fill(ground, is_alone=True)

    assert filling._mark() == ""


@pytest.mark.django_db
def test_what_was_filled_before_is_shown_again(
    ground: Ground, example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling.fill(ground, is_alone=True)
    monkeypatch.setattr(example, "fill", lambda: LOGINS)

    assert filling.fill(ground, is_alone=True) == LOGINS


@pytest.mark.django_db
def test_one_beside_a_filling_that_never_ends_is_told_what_to_do(
    ground: Ground, example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "PATIENCE_SECONDS", 0)
    filling._set_mark(filling.BEGUN)

    with pytest.raises(Refusal, match="stop, then demo again"):
        filling.fill(ground, is_alone=False)


@pytest.mark.servers
def test_an_interrupted_filling_begins_again_with_an_empty_database() -> None:
    code = """
import sys, types
from pathlib import Path
from django.contrib.auth import get_user_model
from config import filling, world
sys.modules["config.demo"] = types.SimpleNamespace(fill=lambda: [])
get_user_model().objects.create(email="half@example.com")
filling._set_mark(filling.BEGUN)
filling.fill(world.our_ground(), is_alone=True)
print(get_user_model().objects.count(), filling._mark())
"""
    with open_folder() as folder:
        done = manage(Path(folder) / "var", "shell", "--no-imports", "-c", code)

    assert done.stdout.strip() == f"0 {filling.FILLED}", done.stderr
    assert "beginning again" in done.stderr
