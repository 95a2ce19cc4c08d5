"""From a bare Python to `.venv` with the locked packages. Standard library only: nothing is installed yet.

`.venv/lock.sha256` says which lock is installed. It is removed before an installation and written last, so an
installation that was killed is done again, and a changed lock is installed before anything runs.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from config.console import step

BASE_DIR = Path(__file__).resolve().parent.parent
VENV = BASE_DIR / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "lock.sha256"
RUN_LOCK = BASE_DIR / "requirements.txt"
DEV_LOCK = BASE_DIR / "requirements-dev.txt"
UV_LOCK = BASE_DIR / "requirements-uv.txt"
FOREIGN = ("PYTHONHOME", "PYTHONPATH")
"""Variables that would bring other people's modules into our Python."""


def enter_environment(argv: list[str]) -> None:
    """Make sure this process is `.venv`'s Python with the right packages; start again in it where it is not."""
    if os.environ.get("HEADROOM_NO_VENV") == "1":
        return
    lock = DEV_LOCK if argv[1:2] == ["test"] or argv[1:3] == ["setup", "--dev"] else RUN_LOCK
    installed = False
    if _must_install(lock):
        _install(lock)
        installed = True
    foreign = [name for name in FOREIGN if name in os.environ]
    if not _is_inside() or installed or foreign:
        _start_again(argv)
    if importlib.util.find_spec("django") is None:
        sys.exit(
            f"{VENV} is not complete (it may belong to another Python). "
            f"Remove it and run: python3 {Path(argv[0]).name} setup"
        )


def _is_inside() -> bool:
    return Path(sys.prefix).resolve() == VENV.resolve()


def _must_install(lock: Path) -> bool:
    """Whether the packages of this lock are missing. A `.venv` somebody made by hand (no stamp) is left alone
    while we run inside it, unless `test` needs more than it has."""
    stamp = _stamp()
    if not stamp and _is_inside():
        return lock == DEV_LOCK and importlib.util.find_spec("pytest") is None
    good = {_digest(DEV_LOCK)} if lock == DEV_LOCK else {_digest(RUN_LOCK), _digest(DEV_LOCK)}
    return stamp not in good or not PYTHON.exists()


def _stamp() -> str:
    with contextlib.suppress(OSError):
        return STAMP.read_text().strip()
    return ""


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def _install(lock: Path) -> None:
    with _alone():
        if not _must_install(lock):
            return  # another process did it while we waited
        try:
            if not PYTHON.exists():
                _make_venv()
            STAMP.unlink(missing_ok=True)
            _install_uv()
            _install_packages(lock)
            STAMP.write_text(_digest(lock) + "\n")
        except PermissionError as error:
            sys.exit(f"{error.filename} cannot be written by this account: use your own clone, or its owner's account.")


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One installation at a time; the kernel gives the lock back even after kill -9."""
    folder = os.open(BASE_DIR, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _make_venv() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        sys.exit(
            "This Python cannot make virtual environments (Debian and Ubuntu keep that part in a package of its own). "
            f"Run this line, then try again:\n\n    sudo apt-get install python{version}-venv\n"
        )
    with step("making .venv"):
        pip = ["--without-pip"] if _pip_wheel() else []  # unpacking pip takes four seconds; its wheel runs as it is
        _call([sys.executable, "-m", "venv", "--clear", *pip, str(VENV)], "making .venv")


def _pip_wheel() -> Path | None:
    """The wheel of pip that came with this Python."""
    package = importlib.util.find_spec("ensurepip")
    homes = [Path(package.origin).parent / "_bundled"] if package and package.origin else []
    if wheels := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        homes.append(Path(wheels))
    homes.append(Path("/usr/share/python-wheels"))  # Debian keeps it there, and says so nowhere
    return next((wheel for home in homes for wheel in sorted(home.glob("pip-*.whl"))), None)


def _pip(*arguments: str) -> list[str]:
    """A pip command for `.venv`: with the pip installed in it, else straight from the wheel."""
    wheel = None if list(VENV.glob("lib/python3*/site-packages/pip")) else _pip_wheel()
    return [str(PYTHON), *([f"{wheel}/pip"] if wheel else ["-m", "pip"]), *arguments]


def _install_uv() -> None:
    wanted = UV_LOCK.read_text().split()[0].replace("==", " ")
    with contextlib.suppress(OSError):
        answer = subprocess.run([VENV / "bin" / "uv", "--version"], capture_output=True, text=True, check=False)
        if answer.stdout.startswith(wanted):
            return
    with step("installing uv"):
        _call(_pip_install(UV_LOCK), "installing uv")


def _pip_install(lock: Path) -> list[str]:
    return _pip("install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", str(lock))


def _install_packages(lock: Path) -> None:
    """With uv, ten times faster; with pip where only pip's own configuration finds the way to the packages."""
    command = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(PYTHON), "--compile-bytecode"]
    with step("installing the packages"):
        by_uv = subprocess.run(
            [*command, "--require-hashes", "-r", str(lock)],
            env={**_clean_environment(), **_index_of_pip()},
            capture_output=True,
            text=True,
            check=False,
        )
        if by_uv.returncode:
            _call(_pip_install(lock), f"installing the packages (uv said: {by_uv.stderr.strip()})")


def _index_of_pip() -> dict[str, str]:
    """What pip was told about the way to the packages, in uv's words: uv does not read pip's configuration."""
    listing = subprocess.run(
        _pip("config", "list"), env=_clean_environment(), capture_output=True, text=True, check=False
    )
    told: dict[str, str] = {}
    for line in listing.stdout.splitlines():
        name, _, value = line.partition("=")
        with contextlib.suppress(ValueError, SyntaxError):
            told[name.rpartition(".")[2]] = str(ast.literal_eval(value))
    spoken = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    return {
        variable: told[option] for option, variable in spoken.items() if told.get(option) and variable not in os.environ
    }


def _clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}


def _call(command: list[str], what: str) -> None:
    done = subprocess.run(command, env=_clean_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{what} did not work:\n{(done.stderr or done.stdout).strip()}")


def _start_again(argv: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    script = str(Path(argv[0]).resolve())
    os.execve(PYTHON, [str(PYTHON), script, *argv[1:]], _clean_environment())
