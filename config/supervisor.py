"""Runs the web, the workers and the clock, keeps them running, and ends them all together."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from config import watchdog
from config.console import Refusal, say
from config.runtime import Runtime
from config.servers.account import as_account
from config.servers.ground import Ground
from config.servers.identity import identity_of

QUEUES = "imports,estimates,default"
WORKERS = 2
LOOK_EVERY = 0.1
TOO_MANY_ENDS, WITHIN_SECONDS = 4, 60.0


@dataclass
class Program:
    """One of the programs: how it is started, and the times at which it ended unasked."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    ends: list[float] = field(default_factory=list)


class Supervisor:
    """Web, workers and clock of one instance."""

    def __init__(self, ground: Ground, runtime: Runtime, port: int, keep_servers: Callable[[], None]) -> None:
        self.ground = ground
        self.runtime = runtime
        self.port = port
        self.keep_servers = keep_servers
        self.lifeline, self.held_end = os.pipe()
        self.is_ending = False
        self.is_hurried = False
        python, clock = str(runtime.python), ground.folder("clock")
        granian = ["-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), "--no-ws"]
        celery = ["-m", "celery", "-A", "config"]
        self.programs = [
            Program("web", [python, *granian, "--blocking-threads", "4", "config.wsgi:application"]),
            Program("worker", [python, *celery, "worker", "-l", "INFO", "-Q", QUEUES, "-c", str(WORKERS)]),
            Program("clock", [python, *celery, "beat", "-l", "INFO", "-s", str(clock / "schedule"), "--pidfile="]),
        ]

    def run(self, when_healthy: Callable[[float], None]) -> int:
        """Serve until we are told to end, or a program cannot be kept alive."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)
        begun = time.monotonic()
        for program in self.programs:
            self._start(program)
        is_healthy = False
        next_look = 0.0
        try:
            while not self.is_ending:
                if not is_healthy and (is_healthy := is_answering(self.port)):
                    when_healthy(time.monotonic() - begun)
                if time.monotonic() > next_look:
                    next_look = time.monotonic() + 2
                    self.keep_servers()
                if (failed := self._revive()) is not None:
                    say(f"{failed.name} ends again and again; the end of {self._log(failed)}:")
                    say(self._last_words(failed))
                    return 1
                time.sleep(LOOK_EVERY)
            return 0
        finally:
            self._end_all()

    def _end(self, *_: object) -> None:
        self.is_hurried = self.is_ending
        self.is_ending = True

    def _start(self, program: Program) -> None:
        shim = [str(self.runtime.python), "-I", "-S", str(self.runtime.code / "config" / Path(watchdog.__file__).name)]
        with _new_log(self._log(program)) as log:
            program.process = subprocess.Popen(  # type: ignore[call-overload]
                [*shim, str(self.lifeline), *program.command],
                cwd=self.runtime.code,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(self.lifeline,),
                start_new_session=True,
                **as_account(self.ground.account),
            )

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
        home = {"HOME": "/nonexistent", "USER": self.ground.account.name} if self.ground.account else {}
        return {**inherited, **home, **self.runtime.environment(), "PYTHONUNBUFFERED": "1"}

    def _revive(self) -> Program | None:
        """Start again what ended unasked; the program that ends too often, if there is one."""
        for program in self.programs:
            if program.process is None or program.process.poll() is None:
                continue
            self._sweep(program)
            now = time.monotonic()
            program.ends = [end for end in program.ends if now - end < WITHIN_SECONDS] + [now]
            if len(program.ends) >= TOO_MANY_ENDS:
                return program
            say(f"{program.name} ended (status {program.process.returncode}); starting it again")
            self._start(program)
        return None

    def _end_all(self) -> None:
        started = [program for program in self.programs if program.process]
        for program in started:
            if program.process and program.process.poll() is None:
                program.process.terminate()
        until = time.monotonic() + watchdog.GRACE_SECONDS
        while time.monotonic() < until and not self.is_hurried:
            if all(program.process and program.process.poll() is not None for program in started):
                break
            time.sleep(0.05)
        for program in started:
            self._sweep(program)

    def _sweep(self, program: Program) -> None:
        """Kill what is left of a program's session."""
        if program.process:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(program.process.pid, signal.SIGKILL)
            program.process.wait()

    def _log(self, program: Program) -> Path:
        return self.ground.own_folder("log") / f"{program.name}.log"

    def _last_words(self, program: Program) -> str:
        return "\n".join(f"  {line}" for line in self._log(program).read_text(errors="replace").splitlines()[-15:])


@contextlib.contextmanager
def alone(ground: Ground, port: int) -> Iterator[str]:
    """Be the only supervisor of this var: yields "" for the one, and for any other the address of the one."""
    run = ground.own_folder("run")
    lock = os.open(run / "supervisor.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield os.pread(lock, 200, 0).decode() or "another terminal, still starting"
            return
        refuse_taken(port)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"http://127.0.0.1:{port}".encode(), 0)
        ourselves = identity_of(os.getpid())
        if ourselves:
            ourselves.write(run / "supervisor.json")
        yield ""
        (run / "supervisor.json").unlink(missing_ok=True)
    finally:
        os.close(lock)


def refuse_taken(port: int) -> None:
    """Say so at once when another program listens on our port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Refusal(
                f"Port {port} cannot be used ({error.strerror}). Choose another one: --port {port + 1}"
            ) from None


def is_answering(port: int) -> bool:
    """Whether the web is up, and reaches database and broker."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextlib.contextmanager
def _new_log(path: Path) -> Iterator[BinaryIO]:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(opened, "ab") as log:
        yield log


def rotate_logs(ground: Ground) -> None:
    """Keep the logs of this run and of the one before."""
    for log in ground.own_folder("log").glob("*.log"):
        if log.stem in ("web", "worker", "clock"):
            log.replace(log.with_suffix(".log.1"))
