"""What `manage.py` does with its first word: our own commands, else Django's."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import django
from django.core.management import execute_from_command_line
from django.db import connection

from config import filling, schema, supervisor, world
from config.console import Refusal, say, step
from config.servers import embedded, identity
from config.servers.account import service_account
from config.servers.ground import Ground, existing_ground
from config.supervisor import Supervisor
from config.world import World

BASE_DIR = Path(__file__).resolve().parent.parent
WITHOUT_TABLES = frozenset(
    "check collectstatic compilemessages dbshell diffsettings findstatic help makemessages makemigrations migrate "
    "optimizemigration showmigrations spectacular sqlflush sqlmigrate sqlsequencereset squashmigrations startapp "
    "startproject version --help -h --version".split()
)
"""Django's commands that must work whatever state the tables are in."""
TEST_GROUNDS = 9
SIDE_BY_SIDE = ("-n", "2")
"""The whole suite runs in two processes; what is asked for by name runs in one."""
HELP = """Headroom: plan, approve, meter and learn from the money that AI training costs.

  python3 manage.py demo [--port N]   serve the product, filled with an example organisation
  python3 manage.py up [--port N]     serve the product
  python3 manage.py stop              end what runs
  python3 manage.py test [ARGUMENT…]  run the tests (arguments go to pytest)
  python3 manage.py setup             only install the packages into .venv

Everything is kept in var/ (HEADROOM_VAR moves it). docs/operations.md says more. Django's commands:
"""


def run(argv: list[str]) -> int:
    """Run one command; its exit status."""
    name = argv[1] if len(argv) > 1 else "help"
    own: dict[str, Callable[[list[str]], int]] = {"setup": setup, "up": up, "demo": demo, "stop": stop, "test": test}
    try:
        return own[name](argv[2:]) if name in own else _django_command([argv[0], name, *argv[2:]])
    except Refusal as refusal:
        say(str(refusal))
        return 1
    except KeyboardInterrupt:
        return 130


def setup(arguments: list[str]) -> int:
    """The packages are installed already when this runs: say what comes next."""
    parser = argparse.ArgumentParser(prog="manage.py setup", description="Install the packages into .venv.")
    parser.add_argument("--dev", action="store_true", help="with the tools for developing Headroom")
    parser.parse_args(arguments)
    say("Ready. Next: python3 manage.py demo, or python3 manage.py up")
    return 0


def up(arguments: list[str]) -> int:
    """Serve the product with its workers until Ctrl-C."""
    port = _port("up", "Serve the product, with its workers, until Ctrl-C.", arguments)
    return _serve(port, lambda *_: [])


def demo(arguments: list[str]) -> int:
    """Serve the product filled with an example organisation, and print the logins."""
    port = _port("demo", "Serve the product, filled with an example organisation, until Ctrl-C.", arguments)
    if os.environ.get("DATABASE_URL") or os.environ.get("REDIS_URL"):
        raise Refusal("demo fills a database of its own: unset DATABASE_URL and REDIS_URL, or serve yours with `up`.")
    return _serve(port, _fill)


def stop(arguments: list[str]) -> int:
    """End what runs under this var."""
    argparse.ArgumentParser(prog="manage.py stop", description="End what runs under var/.").parse_args(arguments)
    ground = existing_ground(world.var_folder(), service_account())
    ended = ground is not None and any([_stop_supervisor(ground), embedded.stop(ground), *_stop_tests(ground)])
    say("Stopped." if ended else "Nothing runs here.")
    return 0


def test(arguments: list[str]) -> int:
    """Run pytest in a var of its own; its exit status is ours."""
    with _test_ground() as ground:
        inside = world.enter(ground, for_tests=True)
        os.environ["HEADROOM_FILES"] = str(ground.folder("files"))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches pytest too, which sums up and ends
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *(arguments or SIDE_BY_SIDE)],
            cwd=BASE_DIR,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        status = process.wait()
        inside.leave()
    return status if status >= 0 else 128 - status


def _serve(port: int, fill: Callable[[Ground, bool], list[str]]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ground = world.our_ground()
    with supervisor.alone(ground, port) as running_at:
        inside = world.enter(ground)
        try:
            django.setup()
            _prepare(inside)
            lines = fill(ground, not running_at)
            connection.close()
            if running_at:
                print("\n".join([f"Headroom already runs at {running_at}", *lines]), flush=True)
                return 0
            runtime = inside.runtime()
            supervisor.rotate_logs(ground)
            served = Supervisor(ground, runtime, port, lambda: _keep(inside))
            return served.run(lambda seconds: _greet(ground, port, seconds, lines))
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            inside.leave()


def _greet(ground: Ground, port: int, seconds: float, lines: list[str]) -> None:
    say(f"  web, worker and clock … {seconds:.1f} s")
    print("\n".join([f"\nHeadroom serves at http://127.0.0.1:{port}", *lines]), flush=True)
    say(f"Logs: {ground.var / 'log'}. Ctrl-C ends it.")


def _keep(inside: World) -> None:
    """Start a server that has died again."""
    if inside.servers:
        embedded.revive(inside.servers)


def _prepare(inside: World) -> None:
    if inside.servers:
        schema.bring_up_to_date(inside.ground)
    else:
        schema.refuse_pending()


def _fill(ground: Ground, is_alone: bool) -> list[str]:
    """Fill the demo; the lines that say who can log in."""
    return [f"  {role:<12} {email:<28} {password}" for role, email, password in filling.fill(ground, is_alone=is_alone)]


def _django_command(argv: list[str]) -> int:
    if world.is_embedding_forbidden():
        world.enter_given()
        _execute(argv, schema.refuse_pending)
        return 0
    inside = world.enter(world.our_ground())
    try:
        _execute(argv, lambda: _prepare(inside))
    finally:
        inside.ground.hand_over("files")
    return 0


def _execute(argv: list[str], prepare: Callable[[], None]) -> None:
    if argv[1] in ("help", "--help", "-h") and len(argv) == 2:
        print(HELP)
    if argv[1] not in WITHOUT_TABLES and not {"--help", "-h"} & set(argv[2:]):
        django.setup()
        prepare()
    execute_from_command_line(argv)


def _stop_supervisor(ground: Ground) -> bool:
    found = identity.read(ground.own_folder("run") / "supervisor.json")
    if found is None or not found.is_alive():
        return False
    with step("stopping web, worker and clock"):
        found.end(seconds=60)
    return True


def _stop_tests(ground: Ground) -> list[bool]:
    numbers = range(1, TEST_GROUNDS + 1)
    inner = [ground.inner(f"test-{number}") for number in numbers if (ground.var / f"test-{number}").exists()]
    return [embedded.stop(one) for one in inner]


@contextlib.contextmanager
def _test_ground() -> Iterator[Ground]:
    """A var of its own for these tests; a second `test` beside the first gets another one."""
    ground = world.our_ground()
    for number in range(1, TEST_GROUNDS + 1):
        inner = ground.inner(f"test-{number}")
        lock = os.open(inner.own_folder("run") / "test.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        try:
            yield inner
        finally:
            os.close(lock)
        return
    raise Refusal(f"{TEST_GROUNDS} test runs are under way already; wait for one of them.")


def _port(name: str, what: str, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"manage.py {name}", description=what)
    parser.add_argument("--port", type=int, default=8000, help="where to listen on 127.0.0.1 (8000)")
    port = int(parser.parse_args(arguments).port)
    if not 1 <= port <= 65535:
        parser.error(f"--port must be from 1 to 65535, not {port}")
    return port
