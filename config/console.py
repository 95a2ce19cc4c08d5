"""What the person at the terminal reads: sentences, and steps with the seconds they took.

Everything goes to standard error; standard output belongs to the commands.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator


class Refusal(Exception):
    """Headroom will not do this; the message is a sentence that says why and what to do."""


def say(sentence: str) -> None:
    """One line for the person at the terminal."""
    print(sentence, file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is being done, and afterwards how many seconds it took."""
    begun = time.monotonic()
    print(f"  {what} … ", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        print("failed", file=sys.stderr, flush=True)
        raise
    print(f"{time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
