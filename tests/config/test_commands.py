"""The first word after manage.py: what is refused, and in which words; whose servers are used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import runtime
from config.servers import embedded, postgres
from config.servers.account import service_account
from config.servers.ground import existing_ground, open_ground
from tests.config.places import REPOSITORY, environment, free_port, manage, open_folder

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    with open_folder() as made:
        yield made / "var"


@pytest.fixture(scope="module")
def given() -> Iterator[dict[str, str]]:
    """A database and a broker that somebody else runs, without tables."""
    with open_folder() as made:
        ground = open_ground(made / "var", service_account())
        servers = embedded.start(ground, lambda: runtime.packages_for(ground), for_tests=True)
        yield embedded.environment(servers)


def runs_servers(var: Path) -> bool:
    ground = existing_ground(var, service_account())
    return ground is not None and postgres.running(ground) is not None


def test_embedded_servers_can_be_forbidden(var: Path) -> None:
    refused = manage(var, "check", HEADROOM_EMBEDDED="never")

    assert refused.returncode == 1
    assert "set DATABASE_URL, REDIS_URL and SECRET_KEY" in refused.stderr
    assert not runs_servers(var)


def test_with_given_servers_an_image_writes_nothing(given: dict[str, str]) -> None:
    with open_folder() as folder:
        done = manage(folder / "var", "version", HEADROOM_EMBEDDED="never", SECRET_KEY="x", **given)
        without_key = manage(folder / "var", "check", HEADROOM_EMBEDDED="never", **given)

        assert done.returncode == 0
        assert "SECRET_KEY is not set" in without_key.stderr
        assert not (folder / "var").exists()


def test_half_a_choice_is_refused(var: Path) -> None:
    refused = manage(var, "check", DATABASE_URL="postgres://nobody@db.example/x")

    assert refused.returncode == 1
    assert "Only DATABASE_URL is set. Set DATABASE_URL and REDIS_URL both, or neither." in refused.stderr


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
def test_the_demo_never_fills_a_given_database(var: Path, name: str) -> None:
    refused = manage(var, "demo", **{name: "postgres://nobody@db.example/x"})

    assert refused.returncode == 1
    assert "unset DATABASE_URL and REDIS_URL" in refused.stderr


@pytest.mark.parametrize("arguments", [("up",), ("judge", "--json")])
def test_a_given_database_that_lacks_migrations_is_left_alone(
    var: Path, given: dict[str, str], arguments: tuple[str, ...]
) -> None:
    port = ("--port", str(free_port())) if arguments == ("up",) else ()
    refused = manage(var, *arguments, *port, **given)
    shown = manage(var, "showmigrations", "teams", **given)

    assert refused.returncode == 1
    assert "Run: python3 manage.py migrate" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "[ ] 0001" in shown.stdout
    assert not runs_servers(var)


def test_a_given_database_that_does_not_answer_gets_a_sentence(var: Path) -> None:
    closed = f"postgres://nobody@127.0.0.1:{free_port()}/x"
    refused = manage(var, "judge", "--json", DATABASE_URL=closed, REDIS_URL="redis://127.0.0.1:1/0")

    assert refused.returncode == 1
    assert "does not answer" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_settings_alone_start_nothing_and_say_what_is_missing() -> None:
    bare = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    done = subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        cwd=REPOSITORY,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "SECRET_KEY is not set. Start with `python3 manage.py up`" in done.stderr


def test_a_first_command_makes_everything_and_speaks_on_standard_error_only(var: Path) -> None:
    code = (
        "from django.db import connection as c; c.ensure_connection(); print(sorted(c.introspection.table_names())[0])"
    )
    done = manage(var, "shell", "--no-imports", "-c", code)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert "bringing the tables up to date" in done.stderr
    assert runs_servers(var)


def test_the_same_key_every_time_and_files_in_var(var: Path) -> None:
    answer = "json.dumps([s.SECRET_KEY, str(s.MEDIA_ROOT), s.DEBUG])"
    code = f"import json; from django.conf import settings as s; print({answer})"
    first, second = (manage(var, "shell", "--no-imports", "-c", code).stdout for _ in range(2))
    key, files, debug = json.loads(first)

    assert first == second
    assert len(key) >= 50
    assert files == str(var / "files")
    assert debug is False


def test_a_wrong_call_gives_two(var: Path) -> None:
    assert manage(var, "up", "--port", "none").returncode == 2
    assert manage(var, "up", "--port", "70000").returncode == 2


def test_tests_run_in_a_var_of_their_own_and_their_status_comes_back(var: Path) -> None:
    passed = manage(var, "test", "tests/core/test_months.py", "-p", "no:randomly")
    failed = manage(var, "test", "tests/no/such/place")

    assert passed.returncode == 0, passed.stdout
    assert failed.returncode == 4
    assert (var / "test-1").is_dir()
    assert not runs_servers(var / "test-1")


def test_stop_where_nothing_ever_ran_makes_nothing() -> None:
    with open_folder() as folder:
        done = manage(folder / "var", "stop")

        assert done.returncode == 0
        assert "Nothing runs here." in done.stderr
        assert not (folder / "var").exists()


def test_no_server_is_started_by_importing_the_product() -> None:
    with open_folder() as folder:
        keys = {"SECRET_KEY": "x", "DATABASE_URL": "postgres://x@db.example/x", "REDIS_URL": "redis://db.example"}
        code = "import config.settings, config.celery, config.wsgi"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=REPOSITORY, env=environment(folder / "var", **keys), check=False
        )

        assert done.returncode == 0
        assert not (folder / "var").exists()
