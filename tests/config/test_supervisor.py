"""`up` as a whole: it serves, heals, refuses what it must, and leaves nothing behind however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.servers import postgres, valkey
from config.servers.account import service_account
from config.servers.ground import Ground, existing_ground
from config.servers.identity import Identity, identity_of
from tests.config.places import REPOSITORY, environment, free_port, manage, open_folder, wait_until

pytestmark = pytest.mark.servers
is_root = os.geteuid() == 0


class Instance:
    """One `manage.py up`, and what it started."""

    def __init__(self, var: Path, clone: Path = REPOSITORY) -> None:
        self.var = var
        self.port = free_port()
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the test
        self.process = subprocess.Popen(
            [sys.executable, str(clone / "manage.py"), "up", "--port", str(self.port)],
            env=environment(var),
            cwd="/",
            stdout=self.said,
            stderr=self.said,
            start_new_session=True,
        )

    def is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def wait_until_healthy(self) -> None:
        assert wait_until(lambda: self.is_healthy() or self.process.poll() is not None, seconds=180)
        assert self.process.poll() is None, self.words()
        assert wait_until(lambda: "Headroom serves at" in self.words(), seconds=10)

    def words(self) -> str:
        self.said.seek(0)
        return self.said.read()

    def ground(self) -> Ground:
        ground = existing_ground(self.var, service_account())
        assert ground
        return ground

    def programs(self) -> list[Identity]:
        """Web, workers and clock with their watchdogs: every process that knows this var from its environment and is
        no server."""
        mark = f"HEADROOM_VAR={self.var}".encode()
        found = [identity_of(pid) for pid in _numbers() if pid != self.process.pid and mark in _environment_of(pid)]
        return [one for one in found if one and "config.servers.guardian" not in one.command]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        manage(self.var, "stop")
        self.said.close()


def _numbers() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture(scope="module")
def clone() -> Iterator[Path]:
    """As root: a clone that only root can read, as one below /root is. Otherwise this one."""
    if not is_root:
        yield REPOSITORY
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as closed:
        left_out = shutil.ignore_patterns(".git", ".venv", "var", "tests", "docs", "__pycache__", ".*_cache")
        yield Path(shutil.copytree(REPOSITORY, Path(closed) / "clone", ignore=left_out))


@pytest.fixture(scope="module")
def instance(folder: Path, clone: Path) -> Iterator[Instance]:
    """A running instance, which the tests below hurt only in ways it must survive."""
    started = Instance(folder / "var", clone)
    started.wait_until_healthy()
    yield started
    started.end()


def test_it_says_what_it_does_with_seconds_and_where_it_serves(instance: Instance) -> None:
    for step in (
        "starting PostgreSQL … ",
        "starting Valkey … ",
        "bringing the tables up to date … ",
        "web, worker and clock … ",
    ):
        assert step in instance.words()
    assert f"Headroom serves at http://127.0.0.1:{instance.port}\n" in instance.words()


def test_web_workers_and_clock_run(instance: Instance) -> None:
    commands = " ".join(program.command for program in instance.programs())

    for part in ("granian", "celery -A config worker", "celery -A config beat"):
        assert part in commands


@pytest.mark.skipif(not is_root, reason="as an ordinary user they run as ourselves, from our clone")
def test_none_of_them_runs_as_root_though_only_root_can_read_the_clone(instance: Instance, clone: Path) -> None:
    account = service_account()
    owners = {Path(f"/proc/{program.pid}").stat().st_uid for program in instance.programs()}

    assert account
    assert owners == {account.uid}
    assert not account.may_enter(clone)
    assert clone.parent.stat().st_mode & 0o777 == 0o700
    assert "copying the program to where the account" in instance.words()


def test_a_second_up_says_where_it_runs_already(instance: Instance) -> None:
    second = manage(instance.var, "up", "--port", str(free_port()))

    assert second.returncode == 0
    assert f"already runs at http://127.0.0.1:{instance.port}" in second.stdout
    assert instance.is_healthy()


def test_a_taken_port_is_said_before_anything_starts(instance: Instance) -> None:
    with open_folder() as other:
        refused = manage(other / "var", "up", "--port", str(instance.port))
        left = existing_ground(other / "var", service_account())

        assert refused.returncode == 1
        assert f"Port {instance.port} cannot be used" in refused.stderr
        assert left
        assert postgres.running(left) is None


def test_a_command_beside_it_uses_the_same_servers_and_leaves_them(instance: Instance) -> None:
    before = postgres.running(instance.ground())
    done = manage(instance.var, "showmigrations", "teams")

    assert done.returncode == 0
    assert "[X] 0001" in done.stdout
    assert postgres.running(instance.ground()) == before


def test_a_killed_web_is_started_again(instance: Instance) -> None:
    web = next(program for program in instance.programs() if " -m granian" in program.command)
    os.kill(web.pid, signal.SIGKILL)

    assert wait_until(lambda: "web ended" in instance.words(), seconds=5)
    assert wait_until(instance.is_healthy, seconds=20)


def test_killed_servers_are_started_again(instance: Instance) -> None:
    for server in (postgres.running(instance.ground()), valkey.running(instance.ground())):
        assert server
        os.kill(server.pid, signal.SIGKILL)
    again = wait_until(
        lambda: postgres.running(instance.ground()) and valkey.running(instance.ground()) and instance.is_healthy(),
        seconds=120,
    )

    assert again


def test_when_the_supervisor_is_killed_its_programs_end_and_up_works_again(instance: Instance) -> None:
    programs = instance.programs()
    instance.process.kill()
    instance.process.wait()

    assert len(programs) >= 6
    assert wait_until(lambda: not any(program.is_alive() for program in programs), seconds=15)
    assert postgres.running(instance.ground())


def test_control_c_ends_everything_it_started(folder: Path, clone: Path, instance: Instance) -> None:
    manage(folder / "var", "stop")
    warm = Instance(folder / "var", clone)
    warm.wait_until_healthy()
    programs, ground = warm.programs(), warm.ground()
    warm.process.send_signal(signal.SIGINT)
    status = warm.process.wait(20)

    assert status == 0
    assert len(programs) >= 6
    assert not any(program.is_alive() for program in programs)
    assert postgres.running(ground) is None
    assert valkey.running(ground) is None


def test_stop_ends_an_up_in_another_terminal(folder: Path, clone: Path, instance: Instance) -> None:
    warm = Instance(folder / "var", clone)
    warm.wait_until_healthy()
    programs = warm.programs()
    stopped = manage(folder / "var", "stop")
    again = manage(folder / "var", "stop")

    assert (stopped.returncode, again.returncode) == (0, 0)
    assert "Stopped." in stopped.stderr
    assert "Nothing runs here." in again.stderr
    assert warm.process.wait(5) == 0
    assert not any(program.is_alive() for program in programs)
