"""`python -m bench [subject…] [--rows N] [--stored N]`: measure all subjects, or those named. Needs DATABASE_URL,
REDIS_URL and SECRET_KEY; `make bench` provides them. Each subject is a module with `measure() -> list[Measure]` and a
TITLE; what the numbers mean for imports stands in `bench/imports.py`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from bench.table import print_table

NOT_SUBJECTS = {"__init__", "__main__", "table", "focus_file"}


def subjects() -> list[str]:
    """Modules of this folder that measure something."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_SUBJECTS)
    return [name for name in names if hasattr(importlib.import_module(f"bench.{name}"), "measure")]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("subjects", nargs="*")
    for name in ("rows", "stored"):
        parser.add_argument(f"--{name}", type=int, help="of imports")
    options = parser.parse_args(arguments)
    for name in ("rows", "stored"):
        if getattr(options, name) is not None:
            os.environ[f"HEADROOM_BENCH_{name.upper()}"] = str(getattr(options, name))
    return run(options.subjects)


def run(asked: list[str]) -> int:
    known = subjects()
    unknown = [name for name in asked if name not in known]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in asked or known:
        module = importlib.import_module(f"bench.{name}")
        print_table(module.TITLE, module.measure())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
