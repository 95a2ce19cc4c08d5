"""Folders and processes for tests of the servers: short paths outside pytest's closed folders, nothing left behind."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from config.console import Refusal
from config.servers import embedded
from config.servers.account import service_account
from config.servers.ground import existing_ground

REPOSITORY = Path(__file__).resolve().parents[2]
OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "EMAIL_URL", "STATIC_ROOT", "PGHOST")


@contextmanager
def open_folder() -> Iterator[Path]:
    """A new folder that every account may enter, as /srv or /opt is; what runs in it ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="hr-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        with suppress(Refusal):  # a test of refusals leaves a var that is refused here too
            ground = existing_ground(folder / "var", service_account())
            if ground is not None:
                embedded.stop(ground)
        shutil.rmtree(folder)


def environment(var: Path, **more: str) -> dict[str, str]:
    """The environment of a person who has set nothing of Headroom's but the folder."""
    ours = {name for name in os.environ if name.startswith("HEADROOM_")} | set(OURS)
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return {**inherited, "HEADROOM_VAR": str(var), "HEADROOM_NO_VENV": "1", **more}


def manage(var: Path, *arguments: str, cwd: Path = REPOSITORY, **more: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py to its end."""
    command = [sys.executable, str(cwd / "manage.py"), *arguments]
    return subprocess.run(
        command, env=environment(var, **more), capture_output=True, text=True, timeout=120, check=False
    )


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(is_so: Callable[[], object], *, seconds: float) -> bool:
    """Whether something becomes so within these seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.05)
    return False
