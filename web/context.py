"""What the frame of every page shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def frame(request: HttpRequest) -> dict[str, Any]:
    """Counts beside the links of the rail; nothing for who is not signed in."""
    return {}
