"""The database of the demo: marked before it is filled, filled once, begun again when the filling was interrupted.

The mark is the comment of the database itself, so it goes wherever the database goes.
"""

from __future__ import annotations

import importlib
import os
import time

from django.contrib.auth import get_user_model
from django.db import connection

from config import schema
from config.console import Refusal, say, step
from config.servers import embedded
from config.servers.ground import Ground

BEGUN, FILLED = "Headroom demo, being filled", "Headroom demo"
PATIENCE_SECONDS = 300


def fill(ground: Ground, *, is_alone: bool) -> list[tuple[str, str, str]]:
    """Fill the database with the example organisation where that is still to do; role, e-mail and password of its
    logins. Not alone: another terminal serves this database, and may be filling it."""
    os.environ.setdefault("HEADROOM_DEMO_PASSWORD", embedded.keys(ground).demo_password)
    if _mark() == BEGUN:
        if is_alone:
            _begin_again(ground)
        else:
            _wait_until_filled()
    if _mark() not in (BEGUN, FILLED):
        if get_user_model().objects.exists():
            raise Refusal("This database holds other data. Point HEADROOM_VAR at another folder for the demo.")
        _set_mark(BEGUN)
    example = importlib.import_module("config.demo")  # it imports models: not before django.setup()
    with step("filling the example organisation" if _mark() == BEGUN else "looking at the example organisation"):
        logins: list[tuple[str, str, str]] = example.fill()
    _set_mark(FILLED)
    return logins


def _mark() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()"
        )
        return cursor.fetchone()[0] or ""


def _set_mark(mark: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"COMMENT ON DATABASE {connection.ops.quote_name(connection.settings_dict['NAME'])} IS '{mark}'")


def _begin_again(ground: Ground) -> None:
    say("  filling the example organisation was interrupted last time: beginning again")
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
    schema.forget(ground)
    schema.bring_up_to_date(ground)


def _wait_until_filled() -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    with step("waiting for the example organisation, which another terminal fills"):
        while _mark() == BEGUN:
            if time.monotonic() > until:
                raise Refusal("The example organisation is not whole. Run: python3 manage.py stop, then demo again.")
            time.sleep(0.5)
