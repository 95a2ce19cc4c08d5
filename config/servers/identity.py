"""Who a process is: its number, when it started and its command line. A number alone may be somebody else's by now."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc/self/stat").exists()


@dataclass(frozen=True)
class Identity:
    """A living process; equal only to itself."""

    pid: int
    started: str
    command: str

    def is_alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        return identity_of(self.pid) == self

    def signal(self, number: int) -> None:
        """Send a signal, if the number still belongs to this process."""
        if self.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self, *, seconds: float) -> None:
        """Ask to end, wait, and kill what has not ended by then."""
        self.signal(signal.SIGTERM)
        if not self.wait(seconds):
            self.signal(signal.SIGKILL)
            self.wait(5)

    def wait(self, seconds: float) -> bool:
        """Wait until the process has ended; False when it has not within these seconds."""
        until = time.monotonic() + seconds
        while self.is_alive():
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def write(self, path: Path) -> None:
        """Keep the identity in a file, whole or not at all."""
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(asdict(self)))
        new.replace(path)


def read(path: Path) -> Identity | None:
    """The identity kept in a file, whether or not it still lives."""
    try:
        return Identity(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def identity_of(pid: int) -> Identity | None:
    """The living process with this number; None when it is gone or a zombie."""
    return _from_proc(pid) if PROC else _from_ps(pid)


def _from_proc(pid: int) -> Identity | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    if status[0] in "ZX":
        return None
    return Identity(pid, f"{boot} {status[19]}", command.decode(errors="replace"))


def _from_ps(pid: int) -> Identity | None:
    command = ["ps", "-ww", "-o", "stat=,lstart=,command=", "-p", str(pid)]
    words = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}).stdout.split()
    if len(words) < 7 or words[0].startswith("Z"):
        return None
    return Identity(pid, " ".join(words[1:6]), " ".join(words[6:]))
