"""What a process outside of the tests needs to work on their database, broker and files."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection


def environment(files: Path | str, **more: str) -> dict[str, str]:
    """Our environment, with the tests' own database in place of the one they were made beside."""
    address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    own = {
        "DATABASE_URL": urlunsplit(address),
        "REDIS_URL": settings.REDIS_URL,
        "HEADROOM_FILES": str(files),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    return {**os.environ, **own, **more}
