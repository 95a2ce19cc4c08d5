"""Where the servers stand: a var and a folder of sockets that nobody else can plant, read or write."""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.console import Refusal
from config.servers import ground as grounds
from config.servers.account import service_account
from config.servers.ground import LONGEST_SOCKET_NAME, LONGEST_SOCKET_PATH, Ground, open_ground
from config.servers.keys import keys_of
from tests.config.places import open_folder

is_root = os.geteuid() == 0
only_as_root = pytest.mark.skipif(not is_root, reason="only root has an account beside its own to run servers as")
only_as_user = pytest.mark.skipif(is_root, reason="root keeps no sockets in XDG_RUNTIME_DIR")


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


def open_here(folder: Path) -> Ground:
    return open_ground(folder / "var", service_account())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_var_is_closed_to_others(folder: Path) -> None:
    ground = open_here(folder)

    assert ground.var == folder / "var"
    assert mode(ground.var) & 0o007 == 0
    assert mode(ground.var) & 0o020 == 0
    assert ground.var.stat().st_uid == os.geteuid()


def test_an_open_umask_changes_nothing(folder: Path) -> None:
    before = os.umask(0)
    try:
        ground = open_here(folder)
        keys_of(ground)
    finally:
        os.umask(before)

    assert mode(ground.var) & 0o027 == 0
    assert mode(ground.var / "keys.json") == 0o600


def test_a_symbolic_link_is_refused_and_where_it_leads_stays_as_it_was(folder: Path) -> None:
    target = folder / "somebody"
    target.mkdir(0o755)
    (folder / "var").symlink_to(target)

    with pytest.raises(Refusal, match="symbolic link"):
        open_here(folder)

    assert (mode(target), target.stat().st_uid, list(target.iterdir())) == (0o755, os.geteuid(), [])


def test_a_link_planted_inside_var_is_refused(folder: Path) -> None:
    ground = open_here(folder)
    target = folder / "somebody"
    target.mkdir(0o755)
    (ground.var / "valkey").symlink_to(target)

    with pytest.raises(Refusal, match="symbolic link"):
        ground.folder("valkey")

    assert (mode(target), target.stat().st_uid) == (0o755, os.geteuid())


def test_a_var_that_others_can_write_to_is_refused(folder: Path) -> None:
    (folder / "var").mkdir()
    (folder / "var").chmod(0o777)

    with pytest.raises(Refusal, match="can be written by other accounts"):
        open_here(folder)


def test_a_file_in_place_of_var_is_refused(folder: Path) -> None:
    (folder / "var").touch()

    with pytest.raises(Refusal, match="not a folder"):
        open_here(folder)


@only_as_root
def test_a_var_of_another_account_is_refused(folder: Path) -> None:
    (folder / "var").mkdir()
    os.chown(folder / "var", pwd.getpwnam("nobody").pw_uid, -1)

    with pytest.raises(Refusal, match="belongs to another account"):
        open_here(folder)


@only_as_user
def test_roots_folder_is_refused() -> None:
    with pytest.raises(Refusal, match="belongs to another account"):
        open_ground(Path("/usr"), None)


def test_the_socket_folder_fits_a_socket_however_long_var_is(folder: Path) -> None:
    deep = folder / "/".join(["x" * 40] * 4)
    sockets = open_ground(deep / "var", service_account()).sockets()

    assert len(str(deep)) > LONGEST_SOCKET_PATH
    assert len(str(sockets)) + LONGEST_SOCKET_NAME <= LONGEST_SOCKET_PATH
    assert mode(sockets) == 0o700
    sockets.rmdir()


def test_two_vars_have_two_socket_folders(folder: Path) -> None:
    first, second = (open_ground(folder / name / "var", service_account()).sockets() for name in ("a", "b"))

    assert first != second
    first.rmdir()
    second.rmdir()


def test_a_socket_folder_made_by_somebody_else_is_refused(folder: Path) -> None:
    ground = open_here(folder)
    sockets = ground.sockets()
    sockets.chmod(0o777)

    with pytest.raises(Refusal, match="can be written by other accounts"):
        ground.sockets()

    sockets.rmdir()


@only_as_user
def test_sockets_lie_in_the_runtime_folder_of_the_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = folder / "runtime"
    runtime.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    assert open_here(folder).sockets().parent == runtime


@only_as_user
def test_a_runtime_folder_that_others_can_read_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = folder / "runtime"
    runtime.mkdir(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    sockets = open_here(folder).sockets()

    assert sockets.parent == Path("/tmp")
    sockets.rmdir()


@only_as_user
def test_a_session_without_runtime_folder_finds_the_same_sockets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = folder / "runtime"
    runtime.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    sockets = open_here(folder).sockets()
    monkeypatch.delenv("XDG_RUNTIME_DIR")

    assert open_here(folder).sockets() == sockets


@only_as_root
def test_the_servers_account_owns_its_folders_and_neither_var_nor_logs(folder: Path) -> None:
    ground = open_here(folder)

    assert ground.account
    assert ground.account.uid != 0
    assert ground.folder("valkey").stat().st_uid == ground.account.uid
    assert ground.own_folder("log").stat().st_uid == 0
    assert mode(ground.own_folder("log")) == 0o700
    assert mode(ground.var) == 0o750


@only_as_root
def test_below_a_closed_folder_the_data_moves_and_the_folder_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as home_of_moved, tempfile.TemporaryDirectory(dir="/tmp") as closed:
        monkeypatch.setattr(grounds, "HOME_OF_MOVED", home_of_moved / "headroom")
        ground = open_ground(Path(closed) / "var", service_account())

        assert ground.var.parent == home_of_moved / "headroom"
        assert ground.account
        assert ground.account.may_enter(ground.var)
        assert mode(Path(closed)) == 0o700


@only_as_root
def test_what_root_wrote_is_handed_to_the_account_without_following_links(folder: Path) -> None:
    ground = open_here(folder)
    files = ground.folder("files")
    secret = folder / "secret"
    secret.touch(0o600)
    (files / "ab").mkdir()
    (files / "ab" / "bill").touch()
    (files / "link").symlink_to(secret)
    ground.hand_over("files")

    assert ground.account
    assert (files / "ab" / "bill").stat().st_uid == ground.account.uid
    assert secret.stat().st_uid == 0


def test_keys_stay_the_same_and_are_for_their_owner_only(folder: Path) -> None:
    ground = open_here(folder)
    first, second = keys_of(ground), keys_of(ground)

    assert first == second
    assert len({first.secret_key, first.database_owner, first.database_app, first.demo_password}) == 4
    assert len(first.secret_key) >= 50
    assert mode(ground.var / "keys.json") == 0o600
    assert first.secret_key not in repr(first)


def test_idle_time_counts_only_while_nobody_uses_the_servers(folder: Path) -> None:
    ground = open_here(folder)
    in_use = ground.use()
    os.utime(ground.var / "run" / "users.lock", (1, 1))
    while_used = ground.idle_seconds()
    os.close(in_use)
    os.utime(ground.var / "run" / "users.lock", (1, 1))

    assert while_used == 0
    assert ground.idle_seconds() > 3600
