"""The ground the servers stand on: `var/` with the data, and the folder of the sockets. Both must be safe.

A folder is never trusted by its name: it is opened without following links, and what was opened is checked.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from config.console import Refusal, say
from config.servers.account import Account

LONGEST_SOCKET_PATH = 107
LONGEST_SOCKET_NAME = len("/.s.PGSQL.5432")
HOME_OF_MOVED = Path("/var/lib/headroom")


@dataclass(frozen=True)
class Ground:
    """An opened and checked `var/`. As root it belongs to root, and the account may pass through it to folders of
    its own; otherwise everything is ours alone."""

    var: Path
    account: Account | None

    def folder(self, name: str) -> Path:
        """A folder inside var that belongs to whoever runs the servers, closed to everybody else."""
        path = self.var / name
        _make_safe(path, self.account, mode=0o700)
        return path

    def own_folder(self, name: str) -> Path:
        """A folder inside var that belongs to us: as root the servers may not write in it."""
        path = self.var / name
        _make_safe(path, None, mode=0o700)
        return path

    def passable_folder(self, name: str) -> Path:
        """A folder inside var that belongs to us, which the account of the servers may read."""
        path = self.var / name
        group = self.account.gid if self.account else None
        _make_safe(path, None, mode=0o750 if self.account else 0o700, group=group)
        return path

    def hand_over(self, name: str) -> None:
        """Give a folder and what root's commands wrote in it to the account of the servers, without following links."""
        folder = self.folder(name)
        if self.account is None:
            return
        for _, folders, files, opened in os.fwalk(folder, follow_symlinks=False):
            for entry in (*folders, *files):
                if os.stat(entry, dir_fd=opened, follow_symlinks=False).st_uid == 0:
                    os.chown(entry, self.account.uid, self.account.gid, dir_fd=opened, follow_symlinks=False)

    def inner(self, name: str) -> Ground:
        """A var of its own inside this one."""
        return open_ground(self.var / name, self.account)

    def sockets(self) -> Path:
        """The folder of the sockets, closed to everybody else. Once chosen it stays, so that two sessions of which
        one has no XDG_RUNTIME_DIR find the same servers; a logout that swept it away makes us choose again."""
        note = self.own_folder("run") / "sockets"
        with contextlib.suppress(OSError):
            noted = Path(note.read_text())
            if noted.is_dir():
                _make_safe(noted, self.account, mode=0o700)
                return noted
        path = self._choose_sockets()
        _make_safe(path, self.account, mode=0o700)
        note.write_text(str(path))
        return path

    def _choose_sockets(self) -> Path:
        mark = hashlib.sha256(str(self.var).encode()).hexdigest()[:12]
        runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
        path = runtime / f"headroom-{mark}"
        short_enough = len(str(path)) + LONGEST_SOCKET_NAME <= LONGEST_SOCKET_PATH
        if self.account is None and short_enough and _is_ours_alone(runtime):
            return path
        uid = self.account.uid if self.account else os.geteuid()
        return Path(f"/tmp/headroom-{uid}-{mark}")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Starting and stopping servers, one at a time; the kernel gives the lock back even after kill -9."""
        lock = self._open_lock("servers.lock")
        try:
            _wait_for(lock)
            yield
        finally:
            os.close(lock)

    def use(self) -> int:
        """Say, for as long as this process lives, that the servers are in use."""
        lock = self._open_lock("users.lock")
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.utime(lock)
        return lock

    def idle_seconds(self) -> float:
        """For how long nobody has used the servers; zero while somebody does."""
        lock = self._open_lock("users.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return max(0.0, time.time() - os.fstat(lock).st_mtime)
        except BlockingIOError:
            os.utime(lock)
            return 0.0
        finally:
            os.close(lock)

    def is_used(self) -> bool:
        """Whether any process uses the servers now."""
        lock = self._open_lock("users.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def _open_lock(self, name: str) -> int:
        return os.open(self.own_folder("run") / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def open_ground(var: Path, account: Account | None) -> Ground:
    """Open var, made where it is not there yet, and refuse one that is not safe."""
    try:
        var.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(_why_not_opened(var.absolute().parent, error)) from None
    place = _place_of(var.absolute(), account)
    if place.parent == HOME_OF_MOVED:
        if not place.exists():
            say(f"  {var.absolute().parent} is closed to the account that runs the servers; the data lies in {place}")
        _make_safe(HOME_OF_MOVED, None, mode=0o755)
    return Ground(Ground(place.parent.resolve(), account).passable_folder(place.name), account)


def existing_ground(var: Path, account: Account | None) -> Ground | None:
    """The ground where there is one already; None where nothing was ever started."""
    if not var.absolute().parent.exists() or not os.path.lexists(_place_of(var.absolute(), account)):
        return None
    return open_ground(var, account)


def _place_of(var: Path, account: Account | None) -> Path:
    """Where var really lies: elsewhere, when as root the account of the servers cannot get there."""
    if account is None or account.may_enter(var.parent):
        return var
    return HOME_OF_MOVED / hashlib.sha256(str(var).encode()).hexdigest()[:12]


def _is_ours_alone(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        status = folder.stat()
        return status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return False


def _make_safe(path: Path, owner: Account | None, *, mode: int, group: int | None = None) -> None:
    """Make a folder that nobody else can write to, or refuse the one that lies there."""
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(0o700)
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise Refusal(_why_not_opened(path, error)) from None
    try:
        status = os.fstat(opened)
        uid = owner.uid if owner else os.geteuid()
        gid = owner.gid if owner else status.st_gid if group is None else group
        if status.st_uid not in (uid, os.geteuid()):
            raise Refusal(
                f"{path} belongs to another account (number {status.st_uid}, not {uid}). "
                "Run this as its owner, or point HEADROOM_VAR at a folder of your own."
            )
        if status.st_mode & 0o022:
            raise Refusal(
                f"{path} can be written by other accounts. Close it (chmod go-w {path}), or move HEADROOM_VAR."
            )
        if (status.st_uid, status.st_gid) != (uid, gid):
            os.fchown(opened, uid, gid)  # ours to give: nobody else could write to it
        if stat.S_IMODE(status.st_mode) != mode:
            os.fchmod(opened, mode)
    finally:
        os.close(opened)


def _why_not_opened(path: Path, error: OSError) -> str:
    if path.is_symlink():
        return f"{path} is a symbolic link: it could lead anywhere. Put a real folder there, or move HEADROOM_VAR."
    if path.exists() and not path.is_dir():
        return f"{path} is not a folder. Move it away, or move HEADROOM_VAR."
    return f"{path} cannot be made or opened ({error.strerror}). Point HEADROOM_VAR at a folder of your own."


def _wait_for(lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("  waiting for another command that starts or stops the servers …")
        fcntl.flock(lock, fcntl.LOCK_EX)
