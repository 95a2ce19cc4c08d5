"""The secrets of one var: made at random on first use, readable by their owner only."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field

from config.console import Refusal
from config.servers.ground import Ground


@dataclass(frozen=True)
class Keys:
    """What must not be guessed, and must stay the same from one start to the next."""

    secret_key: str = field(repr=False)
    database_owner: str = field(repr=False)
    database_app: str = field(repr=False)
    demo_password: str = field(repr=False)


def keys_of(ground: Ground) -> Keys:
    """The secrets of this var; the first call makes them. Call with the ground locked."""
    path = ground.var / "keys.json"
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _make(ground)
    with os.fdopen(opened) as stream:
        try:
            return Keys(**json.load(stream))
        except (ValueError, TypeError):
            raise Refusal(f"{path} cannot be read as Headroom's keys; put back the copy from your backup.") from None


def _make(ground: Ground) -> Keys:
    keys = Keys(
        secret_key=secrets.token_urlsafe(48),
        database_owner=secrets.token_urlsafe(24),
        database_app=secrets.token_urlsafe(24),
        demo_password=secrets.token_hex(6),
    )
    new = ground.var / "keys.json.new"
    new.unlink(missing_ok=True)
    opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(opened, "w") as stream:
        json.dump(asdict(keys), stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(ground.var / "keys.json")
    return keys
