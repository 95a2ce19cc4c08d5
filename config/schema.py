"""Whether the tables fit the code: our own database is brought up to date, somebody else's is not touched."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from django.core.management import call_command, get_commands
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from config.console import Refusal, step
from config.servers.ground import Ground

BASE_DIR = Path(__file__).resolve().parent.parent


def bring_up_to_date(ground: Ground) -> None:
    """Create or change the tables of the embedded database and load the catalogue, when the code has changed."""
    stamp = _stamp(ground)
    wanted = _digest_of_migrations()
    with ground.locked():
        if stamp.exists() and stamp.read_text() == wanted:
            return
        with step("bringing the tables up to date"):
            call_command("migrate", verbosity=0, interactive=False)
        if "load_catalogue" in get_commands():
            with step("loading the price catalogue"):
                call_command("load_catalogue", stdout=io.StringIO())
        stamp.write_text(wanted)


def forget(ground: Ground) -> None:
    """The tables are gone; the next look makes them again."""
    _stamp(ground).unlink(missing_ok=True)


def refuse_pending() -> None:
    """Stop where the given database lacks migrations: it is not ours to change unasked."""
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except OperationalError as error:
        raise Refusal(f"The database of DATABASE_URL does not answer: {str(error).strip()}") from None
    if pending:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in pending[:5])
        more = f" and {len(pending) - 5} more" if len(pending) > 5 else ""
        raise Refusal(f"The database lacks migrations ({names}{more}). Run: python3 manage.py migrate")


def _stamp(ground: Ground) -> Path:
    return ground.own_folder("run") / "schema.sha256"


def _digest_of_migrations() -> str:
    digest = hashlib.sha256((BASE_DIR / "requirements.txt").read_bytes())
    for path in sorted(BASE_DIR.glob("*/migrations/*.py")):
        digest.update(path.relative_to(BASE_DIR).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
