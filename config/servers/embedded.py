"""Both servers of one var: started together, used together, ended together."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from config.console import step
from config.servers import identity, postgres, valkey
from config.servers.ground import Ground
from config.servers.keys import Keys, keys_of
from config.servers.postgres import PostgreSQL
from config.servers.valkey import Valkey

BASE_DIR = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Servers:
    """The running servers of one var."""

    ground: Ground
    postgres: PostgreSQL
    valkey: Valkey
    were_started: bool
    """Whether this process started one of them; else they ran already."""
    in_use: int
    """The open lock that says so; the kernel closes it with the process."""


def start(ground: Ground, packages: Callable[[], Path], *, for_tests: bool = False) -> Servers:
    """Start what does not run, and the guardian that ends them after idle minutes. Safe side by side and twice.
    `packages` finds the binaries, and is asked only when there is something to start."""
    in_use = ground.use()
    with ground.locked():
        database, broker = PostgreSQL(ground, packages, keys_of(ground), for_tests), Valkey(ground, packages)
        were_started = _start_missing(database, broker)
    return Servers(ground, database, broker, were_started, in_use)


def revive(servers: Servers) -> None:
    """Start again what has died since."""
    if not (servers.postgres.running() and servers.valkey.running()):
        with servers.ground.locked():
            _start_missing(servers.postgres, servers.valkey)


def _start_missing(database: PostgreSQL, broker: Valkey) -> bool:
    if not _guardian_lives(database.ground):
        _start_guardian(database.ground)  # before the servers: whatever interrupts us, somebody will end them
    return any([_start(database, "PostgreSQL"), _start(broker, "Valkey")])


def stop(ground: Ground) -> bool:
    """End the servers of this var; False when none ran."""
    with ground.locked():
        return stop_locked(ground)


def stop_if_unused(servers: Servers) -> None:
    """Let go of the servers, and end them unless another process uses them."""
    os.close(servers.in_use)
    with servers.ground.locked():
        if not servers.ground.is_used():
            stop_locked(servers.ground)


def stop_locked(ground: Ground) -> bool:
    """End the servers and their guardian; the caller holds the lock."""
    guardian = identity.read(_guardian_record(ground))
    if guardian is not None and guardian.pid != os.getpid():
        guardian.end(seconds=5)
    if not (postgres.running(ground) or valkey.running(ground)):
        return False
    with step("stopping PostgreSQL and Valkey"):
        postgres.stop(ground)
        valkey.stop(ground)
    with contextlib.suppress(OSError):
        ground.sockets().rmdir()
    return True


def environment(servers: Servers) -> dict[str, str]:
    """What settings read, for the database and the broker that run here."""
    sockets = servers.ground.sockets()
    return {
        "DATABASE_URL": servers.postgres.url(),
        "REDIS_URL": servers.valkey.url(),
        "PGHOST": str(sockets),  # for dbshell, which knows no host in the options
    }


def keys(ground: Ground) -> Keys:
    """The secrets of this var, made on first use."""
    with ground.locked():
        return keys_of(ground)


def _start(server: PostgreSQL | Valkey, name: str) -> bool:
    if server.running():
        if server.is_reachable():
            return False
        server.stop()
    server.packages()  # copies them first where that is needed, as a step of its own
    with step(f"starting {name}"):
        server.start()
    return True


def forget_guardian(ground: Ground) -> None:
    """The guardian is about to end; the next start needs a new one. The caller holds the lock."""
    _guardian_record(ground).unlink(missing_ok=True)


def _guardian_record(ground: Ground) -> Path:
    return ground.own_folder("run") / "guardian.json"


def _guardian_lives(ground: Ground) -> bool:
    known = identity.read(_guardian_record(ground))
    return known is not None and known.is_alive()


def _start_guardian(ground: Ground) -> None:
    command = [sys.executable, "-m", "config.servers.guardian", str(ground.var)]
    opened = os.open(
        ground.own_folder("log") / "guardian.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
    )
    try:
        process = subprocess.Popen(
            command,
            cwd=BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=opened,
            start_new_session=True,
        )
    finally:
        os.close(opened)
    found = identity.identity_of(process.pid)
    if found is not None:
        found.write(_guardian_record(ground))
    process.returncode = 0  # it outlives us on purpose
