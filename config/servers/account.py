"""Which account the servers, the web and the workers run as. Root never runs them itself."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from config.console import Refusal, say

DEFAULT_NAME = "headroom"


@dataclass(frozen=True)
class Account:
    """A system account that owns nothing but Headroom's running data."""

    name: str
    uid: int
    gid: int

    def run(self, command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        """Run a short command as this account and return what it said."""
        return subprocess.run(  # type: ignore[call-overload]
            command, **as_account(self), cwd="/", capture_output=True, text=True, check=False, **options
        )

    def may_enter(self, folder: Path) -> bool:
        """Whether this account can get at what lies in a folder (asked of the kernel, so it includes ACLs)."""
        return self.run(["/bin/sh", "-c", 'test -x "$0"', str(folder)]).returncode == 0


def as_account(account: Account | None) -> dict[str, object]:
    """Arguments for subprocess that start a program as this account; none: as ourselves."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def service_account() -> Account | None:
    """The account for the servers, or None where we are an ordinary user and run them ourselves."""
    if os.geteuid() != 0:
        return None
    chosen = os.environ.get("HEADROOM_ACCOUNT", "")
    account = _look_up(chosen or DEFAULT_NAME)
    if account is None and not chosen:
        account = _create() or _look_up("nobody")
    if account is None:
        raise Refusal(
            f"There is no account {chosen or 'nobody'} to run the servers as; name another in HEADROOM_ACCOUNT."
        )
    if account.uid == 0:
        raise Refusal("HEADROOM_ACCOUNT must not be root: a server that runs as root can be made to do anything.")
    return account


def _look_up(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _create() -> Account | None:
    """A system account of our own, without password, home or shell; shared with no other service."""
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if useradd is None:
        return None
    command = [useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    done = subprocess.run([*command, "--shell", "/usr/sbin/nologin", DEFAULT_NAME], capture_output=True, check=False)
    if done.returncode == 0:
        say(f"  made the system account {DEFAULT_NAME}: servers, web and workers never run as root")
    until = time.monotonic() + 2  # another command may be making it at this moment
    while (account := _look_up(DEFAULT_NAME)) is None and time.monotonic() < until:
        time.sleep(0.1)
    return account
