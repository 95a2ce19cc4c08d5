"""The process that ends the servers when nobody has used them for a while, or when their var has been deleted.

Started with the servers, so that one command typed today leaves nothing running tomorrow.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from config.servers import embedded, postgres, valkey
from config.servers.account import service_account
from config.servers.ground import Ground, open_ground

IDLE_MINUTES = 30.0


def watch(ground: Ground, *, idle_seconds: float) -> None:
    """Look every now and then until the servers have ended."""
    folder = _mark(ground.var)
    while True:
        running = [found for found in (postgres.running(ground), valkey.running(ground)) if found]
        time.sleep(min(30.0, idle_seconds / 4))
        if _mark(ground.var) != folder:
            for server in running:
                server.end(seconds=15)
            return
        if _has_ended(ground, idle_seconds):
            return


def _has_ended(ground: Ground, idle_seconds: float) -> bool:
    with ground.locked():
        if not (postgres.running(ground) or valkey.running(ground)):
            embedded.forget_guardian(ground)
            return True
        if ground.idle_seconds() < idle_seconds:
            return False
        embedded.stop_locked(ground)
        embedded.forget_guardian(ground)
        return True


def _mark(var: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(var)
    except OSError:
        return None
    return status.st_dev, status.st_ino


if __name__ == "__main__":
    minutes = float(os.environ.get("HEADROOM_IDLE_MINUTES", IDLE_MINUTES))
    watch(open_ground(Path(sys.argv[1]), service_account()), idle_seconds=minutes * 60)
