"""Python's collector of circular garbage, as processes that live long want it."""

from __future__ import annotations

import gc

from django.urls import reverse

YOUNG = 10_000
"""After how many new objects it looks for garbage among them."""


def settle() -> None:
    """What is loaded by now stays for good: from here on only what requests and tasks make is looked through.

    Some 200,000 functions, models and addresses: to look through them takes a tenth of a second of whatever request it
    falls into, and took a third of the time of a worker that judges thousands of lines.
    """
    reverse("home")  # loads every page
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)
