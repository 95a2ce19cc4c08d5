"""From a bare Python to .venv. The packages here are fake: a stand-in for uv writes down what it was asked."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.places import REPOSITORY, wait_until

UV = """#!/bin/sh
if [ "$1" = --version ]; then echo "uv 1.2.3"; exit; fi
echo "$UV_DEFAULT_INDEX|$SSL_CERT_FILE|$PYTHONPATH|$*" >> "{calls}"
sleep "${{UV_SECONDS:-0}}"
if [ -e "{broken}" ]; then echo "no such package" >&2; exit 1; fi
mkdir -p "{packages}/django" && touch "{packages}/django/__init__.py"
"""
COMMANDS = """
import os, sys

def run(argv):
    print(sys.prefix, *argv[1:], *(os.environ.get(name, "-") for name in ("PYTHONPATH", "PYTHONHOME")))
    return 7
"""


class Clone:
    """A clone with bootstrap's real files, tiny locks, and a .venv that lacks its packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / ".venv"
        self.calls = folder / "calls"
        self.broken = folder / "broken"
        (folder / "config").mkdir()
        shutil.copy(REPOSITORY / "manage.py", folder)
        for name in ("__init__.py", "bootstrap.py", "console.py"):
            shutil.copy(REPOSITORY / "config" / name, folder / "config")
        (folder / "config" / "commands.py").write_text(COMMANDS)
        for name, lock in (("", "django==5\n"), ("-dev", "django==5\npytest==8\n"), ("-uv", "uv==1.2.3 \\\n")):
            (folder / f"requirements{name}.txt").write_text(lock)
        self.make_venv()

    def make_venv(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.venv], check=True)
        packages = next(self.venv.glob("lib/python3*/site-packages"))
        uv = self.venv / "bin" / "uv"
        uv.write_text(UV.format(calls=self.calls, broken=self.broken, packages=packages))
        uv.chmod(0o755)

    def start(self, *arguments: str, python: str | Path = sys.executable, **more: str) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HEADROOM_", "PIP_"))}
        return subprocess.Popen(
            [python, "manage.py", *arguments],
            cwd=self.folder,
            env={**inherited, "PIP_CONFIG_FILE": os.devnull, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, python: str | Path = sys.executable, **more: str) -> tuple[int, str, str]:
        process = self.start(*arguments, python=python, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def installations(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_it_installs_the_lock_and_starts_again_in_the_venv(clone: Clone) -> None:
    status, out, _ = clone.run("up", "--port", "1")

    assert (status, out) == (7, f"{clone.venv} up --port 1 - -\n")
    assert [
        call.endswith("--require-hashes -r " + str(clone.folder / "requirements.txt")) for call in clone.installations()
    ] == [True]


def test_a_second_start_installs_nothing(clone: Clone) -> None:
    clone.run("up")
    clone.run("up")

    assert len(clone.installations()) == 1


def test_another_lock_is_installed_before_anything_runs(clone: Clone) -> None:
    clone.run("up")
    (clone.folder / "requirements.txt").write_text("django==6\n")
    clone.run("up", python=clone.venv / "bin" / "python")

    assert len(clone.installations()) == 2


def test_the_tests_install_the_other_lock_and_a_later_start_keeps_it(clone: Clone) -> None:
    clone.run("up")
    clone.run("test")
    clone.run("up")

    assert [call.rpartition("/")[2] for call in clone.installations()] == ["requirements.txt", "requirements-dev.txt"]


def test_an_installation_that_failed_is_done_again(clone: Clone) -> None:
    clone.broken.touch()
    failed, _, sentence = clone.run("up", PIP_NO_INDEX="1")
    clone.broken.unlink()
    status, _, _ = clone.run("up")

    assert failed == 1
    assert "no such package" in sentence
    assert status == 7


def test_an_installation_that_was_killed_is_done_again(clone: Clone) -> None:
    process = clone.start("up", UV_SECONDS="5")
    assert wait_until(clone.installations, seconds=10)
    process.kill()
    process.communicate()
    status, _, _ = clone.run("up")

    assert status == 7
    assert len(clone.installations()) == 2


def test_two_at_once_install_once(clone: Clone) -> None:
    both = [clone.start("up", UV_SECONDS="0.5") for _ in range(2)]
    statuses = [process.wait(60) for process in both]

    assert statuses == [7, 7]
    assert len(clone.installations()) == 1


def test_other_peoples_modules_stay_outside(clone: Clone, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign" / "django"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text("raise SystemExit('the wrong Django')")
    first = clone.run("up", PYTHONPATH=str(foreign.parent))
    inside = clone.run("up", python=clone.venv / "bin" / "python", PYTHONPATH=str(foreign.parent))

    assert first[:2] == inside[:2] == (7, f"{clone.venv} up - -\n")
    assert clone.installations()[0].split("|")[2] == ""


def test_a_django_elsewhere_changes_nothing(clone: Clone) -> None:
    assert subprocess.run([sys.executable, "-c", "import django"], check=False).returncode == 0

    _, out, _ = clone.run("up")

    assert out.startswith(str(clone.venv))


def test_it_is_skipped_inside_a_venv_made_by_hand(clone: Clone) -> None:
    packages = next(clone.venv.glob("lib/python3*/site-packages"))
    (packages / "django").mkdir()
    (packages / "django" / "__init__.py").touch()
    status, _, _ = clone.run("up", python=clone.venv / "bin" / "python")

    assert status == 7
    assert clone.installations() == []


def test_a_venv_without_its_packages_says_what_to_do(clone: Clone) -> None:
    status, _, sentence = clone.run("up", python=clone.venv / "bin" / "python")

    assert status == 1
    assert "python3 manage.py setup" in sentence


def test_it_is_skipped_on_demand(clone: Clone) -> None:
    status, out, _ = clone.run("up", HEADROOM_NO_VENV="1")

    assert status == 7
    assert not out.startswith(str(clone.venv))
    assert clone.installations() == []


def test_what_pip_was_told_reaches_uv_and_no_file(clone: Clone) -> None:
    clone.run(
        "up", PIP_INDEX_URL="https://packages.example/simple", PIP_CERT="/etc/own.pem", SSL_CERT_FILE="/etc/ours.pem"
    )

    assert clone.installations()[0].startswith("https://packages.example/simple|/etc/ours.pem|")
    written = [path for path in clone.folder.rglob("*") if path.is_file() and path != clone.calls]
    assert not [path for path in written if b"packages.example" in path.read_bytes()]


def test_without_venv_module_it_prints_the_line_to_run(clone: Clone) -> None:
    shutil.rmtree(clone.venv)
    block = (
        "import sys, runpy, importlib.util as u; find = u.find_spec; sys.argv = ['manage.py', 'up'];"
        "u.find_spec = lambda name, *rest: None if name == 'ensurepip' else find(name, *rest);"
        "sys.path.insert(0, '.'); runpy.run_path('manage.py', run_name='__main__')"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HEADROOM_")}
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=clone.folder, env=environ, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert f"sudo apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv" in done.stderr
    assert not clone.venv.exists()


@pytest.mark.parametrize(("version", "named"), [((3, 9), "3.9"), ((3, 15), "3.15"), ((2, 7), "2.7")])
def test_another_python_gets_a_sentence(version: tuple[int, int], named: str) -> None:
    pretend = (
        f"import sys, runpy; sys.version_info = {(*version, 0)!r}; runpy.run_path('manage.py', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", pretend], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith(f"Headroom needs Python 3.11, 3.12, 3.13 or 3.14; this is {named} ")


def test_an_old_python_can_read_the_file_that_says_so() -> None:
    source = (REPOSITORY / "manage.py").read_text()

    assert ast.parse(source, feature_version=(3, 4))
    assert source.isascii()


def test_uv_is_pinned_by_hash_and_no_lock_names_a_host() -> None:
    locks = {path.name: path.read_text() for path in REPOSITORY.glob("requirements*.txt")}

    assert sorted(locks) == ["requirements-dev.txt", "requirements-uv.txt", "requirements.txt"]
    assert locks["requirements-uv.txt"].startswith("uv==")
    for text in locks.values():
        assert "--hash=sha256:" in text
        assert "://" not in text
