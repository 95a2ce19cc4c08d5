"""PostgreSQL and Valkey as we start them: closed to others, hard to kill for good, never killing somebody else."""

from __future__ import annotations

import json
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from config import runtime
from config.servers import embedded, postgres, valkey
from config.servers.account import service_account
from config.servers.embedded import Servers
from config.servers.ground import open_ground
from config.servers.identity import Identity, identity_of
from tests.config.places import REPOSITORY, environment, open_folder, wait_until

pytestmark = pytest.mark.servers
is_root = os.geteuid() == 0


def start(folder: Path, *, for_tests: bool = True) -> Servers:
    ground = open_ground(folder / "var", service_account())
    return embedded.start(ground, lambda: runtime.packages_for(ground), for_tests=for_tests)


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Servers that no test here harms."""
    with open_folder() as made:
        yield start(made, for_tests=False)


def ask(servers: Servers, question: str) -> object:
    with psycopg.connect(servers.postgres.url()) as connection:
        row = connection.execute(question).fetchone()
    return row[0] if row else None


def tell_valkey(servers: Servers, command: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(servers.ground.sockets() / "valkey.sock"))
        connection.sendall(command + b"\r\n")
        return connection.recv(1000)


def processes(servers: Servers) -> list[Identity]:
    return [found for found in (servers.postgres.running(), servers.valkey.running()) if found]


def test_sockets_and_their_folder_are_closed_to_others(servers: Servers) -> None:
    sockets = servers.ground.sockets()
    owner = servers.ground.account.uid if servers.ground.account else os.geteuid()

    for path in (sockets, sockets / ".s.PGSQL.5432", sockets / "valkey.sock"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert path.stat().st_uid == owner


def test_nothing_listens_on_the_network(servers: Servers) -> None:
    assert ask(servers, "SHOW listen_addresses") == ""
    assert b"\r\n0\r\n" in tell_valkey(servers, b"CONFIG GET port")


def test_the_app_is_no_superuser_and_owns_one_database(servers: Servers) -> None:
    rights = "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
    owned = "SELECT string_agg(datname, ',') FROM pg_database WHERE pg_get_userbyid(datdba) = current_user"

    assert ask(servers, "SELECT current_user::text") == "headroom"
    assert ask(servers, rights) is False
    assert ask(servers, owned) == "headroom"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(servers, "COPY pg_database TO PROGRAM 'true'")


@pytest.mark.parametrize("user", ["postgres", "headroom"])
def test_no_role_enters_without_its_password(servers: Servers, user: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host=str(servers.ground.sockets()), user=user, dbname="headroom", password="guess")


def test_passwords_are_kept_as_scram(servers: Servers) -> None:
    lines = (servers.ground.var / "postgres" / "pg_hba.conf").read_text().splitlines()
    methods = {line.split()[-1] for line in lines if line and not line.startswith("#")}

    assert methods == {"scram-sha-256"}


def test_text_is_utf8_and_sorted_without_the_machines_locale(servers: Servers) -> None:
    question = (
        "SELECT datlocprovider::text || ' ' || datlocale || ' ' || pg_encoding_to_char(encoding) FROM pg_database"
    )

    assert ask(servers, f"{question} WHERE datname = 'headroom'") == "b C.UTF-8 UTF8"


def test_no_password_stands_on_a_command_line_or_in_a_log(servers: Servers) -> None:
    keys = servers.postgres.keys
    written = "".join(path.read_text() for path in (servers.ground.var / "log").glob("*.log"))

    for secret in (keys.database_owner, keys.database_app, keys.secret_key):
        assert secret not in written
        assert not any(secret in found.command for found in processes(servers))


def test_the_broker_keeps_everything_and_forgets_nothing(servers: Servers) -> None:
    assert b"\r\nyes\r\n" in tell_valkey(servers, b"CONFIG GET appendonly")
    assert b"\r\nnoeviction\r\n" in tell_valkey(servers, b"CONFIG GET maxmemory-policy")


def test_they_lead_sessions_of_their_own_so_that_control_c_passes_them_by(servers: Servers) -> None:
    assert [os.getsid(found.pid) for found in processes(servers)] == [found.pid for found in processes(servers)]


@pytest.mark.skipif(not is_root, reason="it takes root to act as a second local user")
def test_a_second_local_user_reaches_neither_sockets_nor_var(servers: Servers) -> None:
    other = pwd.getpwnam("nobody")
    attempt = """
import os, socket, sys
sockets, var = sys.argv[1:]
for name in (".s.PGSQL.5432", "valkey.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(os.path.join(sockets, name))
        print("connected to", name)
    except PermissionError:
        pass
for path in (sockets, var, os.path.join(var, "keys.json"), os.path.join(var, "postgres", "PG_VERSION")):
    try:
        os.listdir(path) if "." not in os.path.basename(path) and not path.endswith("VERSION") else open(path)
        print("read", path)
    except PermissionError:
        pass
"""
    done = subprocess.run(
        ["/usr/bin/python3", "-c", attempt, str(servers.ground.sockets()), str(servers.ground.var)],
        user=other.pw_uid,
        group=other.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not is_root, reason="as an ordinary user the servers are ours")
def test_no_server_runs_as_root(servers: Servers) -> None:
    owners = {Path(f"/proc/{found.pid}").stat().st_uid for found in processes(servers)}

    assert servers.ground.account
    assert owners == {servers.ground.account.uid}


def test_starting_twice_and_side_by_side_gives_the_same_servers(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.config.test_servers import start, processes;"
        "print([found.pid for found in processes(start(Path(sys.argv[1])))])"
    )
    command = [sys.executable, "-c", code, str(folder)]
    both = [
        subprocess.Popen(command, cwd=REPOSITORY, env=environment(folder), stdout=subprocess.PIPE) for _ in range(3)
    ]
    said = {process.communicate(timeout=60)[0] for process in both}

    assert said == {f"{[found.pid for found in processes(start(folder))]}\n".encode()}


def test_several_instances_live_side_by_side(folder: Path, servers: Servers) -> None:
    other = start(folder)

    assert processes(other) != processes(servers)
    assert ask(other, "SELECT 1") == ask(servers, "SELECT 1") == 1
    assert other.valkey.url() != servers.valkey.url()


def test_a_killed_postgresql_starts_again_with_what_it_had_promised(folder: Path) -> None:
    servers = start(folder, for_tests=False)
    with psycopg.connect(servers.postgres.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    killed = servers.postgres.running()
    assert killed
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(5)
    again = start(folder, for_tests=False)

    assert again.were_started
    assert ask(again, "SELECT answer FROM kept") == 42


def test_a_killed_broker_starts_again_with_its_queues_and_its_zombie_does_not_count(folder: Path) -> None:
    servers = start(folder)
    assert tell_valkey(servers, b"RPUSH imports one two") == b":2\r\n"
    time.sleep(1.1)  # appendfsync everysec
    killed = servers.valkey.running()
    assert killed
    os.kill(killed.pid, signal.SIGKILL)  # we are its parent and do not reap it: a zombie
    assert wait_until(lambda: servers.valkey.running() is None, seconds=5)
    again = start(folder)

    assert Path(f"/proc/{killed.pid}").exists()
    assert tell_valkey(again, b"LLEN imports") == b":2\r\n"


def test_a_stale_pid_file_that_names_another_program_harms_neither(folder: Path) -> None:
    servers = start(folder)
    pid_file = servers.ground.var / "postgres" / "postmaster.pid"
    left = pid_file.read_text()
    embedded.stop(servers.ground)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        pid_file.write_text("\n".join([str(bystander.pid), *left.splitlines()[1:]]) + "\n")
        again = start(folder)
        answer = ask(again, "SELECT 1")
        embedded.stop(again.ground)
        survived = bystander.poll() is None
        bystander.kill()

    assert answer == 1
    assert survived


def test_a_number_that_is_another_process_by_now_is_not_killed(folder: Path) -> None:
    ground = start(folder).ground
    embedded.stop(ground)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        now = identity_of(bystander.pid)
        assert now
        for name, record in (("postgres", postgres), ("valkey", valkey)):
            for wrong in ({"started": "long ago"}, {"command": "another program"}):
                kept = {"pid": now.pid, "started": now.started, "command": now.command, **wrong}
                (ground.var / "run" / f"{name}.json").write_text(json.dumps(kept))
                assert record.running(ground) is None
                record.stop(ground)
        survived = bystander.poll() is None
        bystander.kill()

    assert survived


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["sleep", "60"])
    known = identity_of(child.pid)
    assert known
    assert known.is_alive()
    child.kill()

    assert wait_until(lambda: not known.is_alive(), seconds=5)
    assert child.returncode is None
    child.wait()


def test_a_half_made_database_is_made_again(folder: Path) -> None:
    ground = open_ground(folder / "var", service_account())
    (ground.folder("postgres.new") / "data").mkdir()
    (ground.folder("postgres.new") / "password").write_text("left over")

    assert ask(start(folder), "SELECT 1") == 1
    assert not (ground.var / "postgres.new").exists()


def test_stop_leaves_no_process_and_no_socket(folder: Path) -> None:
    servers = start(folder)
    sockets, running = servers.ground.sockets(), processes(servers)
    ended = embedded.stop(servers.ground)

    assert ended
    assert not any(found.is_alive() for found in running)
    assert not sockets.exists()
    assert not embedded.stop(servers.ground)


def test_servers_in_use_by_another_process_outlive_the_one_that_started_them(folder: Path) -> None:
    servers = start(folder)
    in_use = servers.ground.use()  # as another process would
    embedded.stop_if_unused(servers)
    while_used = processes(servers)
    os.close(in_use)

    assert len(while_used) == 2


def test_idle_servers_end_by_themselves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_IDLE_MINUTES", "0.02")
    servers = start(folder)
    time.sleep(2)
    while_used = len(processes(servers))
    os.close(servers.in_use)

    assert while_used == 2
    assert wait_until(lambda: not processes(servers), seconds=10)


def test_servers_of_a_deleted_var_end_by_themselves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_IDLE_MINUTES", "0.02")
    servers = start(folder)
    running = processes(servers)
    time.sleep(1)  # the guardian has looked around
    servers.ground.var.rename(folder / "gone")

    assert wait_until(lambda: not any(found.is_alive() for found in running), seconds=15)
