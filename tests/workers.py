"""Tests that run side by side: each process gets a database of the broker of its own, as pytest-django gives it tables
of its own. A pytest plugin, named in pyproject.toml, because settings are read before any conftest."""

from __future__ import annotations

import os
import re

import pytest

FIRST = ("tests/loop/test_loop_in_browser.py", "tests/config/test_filling.py", "tests/web/test_roles.py")
"""Few tests that take long: begun last, one process would wait minutes for the other."""


def broker_of(worker: str, address: str) -> str:
    """The address with the number of the broker's database moved on by the number of the worker (`gw1`)."""
    moved = int(worker.removeprefix("gw") or 0)
    for pattern in (r"(virtual_host=)(\d+)", r"^(rediss?://[^/]*/)(\d+)"):
        if re.search(pattern, address):
            return re.sub(pattern, lambda found: f"{found[1]}{(int(found[2]) + moved) % 16}", address, count=1)
    return f"{address.rstrip('/')}/{moved}"


if os.environ.get("PYTEST_XDIST_WORKER") and os.environ.get("REDIS_URL"):
    os.environ["REDIS_URL"] = broker_of(os.environ["PYTEST_XDIST_WORKER"], os.environ["REDIS_URL"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Side by side, files are dealt out in this order (`--no-loadscope-reorder`); alone, the order stays as it is."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
