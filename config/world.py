"""Where this process finds its database, broker, keys and files: the given ones, or the servers Headroom brings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from config import runtime
from config.console import Refusal
from config.runtime import Runtime
from config.servers import embedded
from config.servers.account import service_account
from config.servers.embedded import Servers
from config.servers.ground import Ground, open_ground

BASE_DIR = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class World:
    """What one process lives in. Without servers of ours, the database and the broker were given."""

    ground: Ground
    servers: Servers | None

    def runtime(self) -> Runtime:
        """What the web and the workers run from."""
        with self.ground.locked():
            return runtime.runtime_for(self.ground)

    def leave(self) -> None:
        """Give files written as root to the account of the servers, and end the servers if we started them."""
        self.ground.hand_over("files")
        if self.servers and self.servers.were_started:
            embedded.stop_if_unused(self.servers)


def var_folder() -> Path:
    """Where this instance keeps everything it writes."""
    return Path(os.environ.get("HEADROOM_VAR") or BASE_DIR / "var")


def has_given_servers() -> bool:
    """Whether the environment names the database and the broker."""
    given = [name for name in ("DATABASE_URL", "REDIS_URL") if os.environ.get(name)]
    if len(given) == 1:
        raise Refusal(f"Only {given[0]} is set. Set DATABASE_URL and REDIS_URL both, or neither.")
    return bool(given)


def is_embedding_forbidden() -> bool:
    """Whether no server may be started here, as in an image."""
    return os.environ.get("HEADROOM_EMBEDDED") == "never"


def enter_given() -> None:
    """Live on given servers alone, and write nothing here."""
    if not has_given_servers():
        raise Refusal(
            "HEADROOM_EMBEDDED=never forbids to start servers here: set DATABASE_URL, REDIS_URL and SECRET_KEY."
        )
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def enter(ground: Ground, *, for_tests: bool = False) -> World:
    """Put everything settings need into the environment, with servers started where none were given."""
    servers = None
    defaults = {"HEADROOM_FILES": str(ground.folder("files")), "STATIC_ROOT": str(ground.passable_folder("static"))}
    if is_embedding_forbidden():
        enter_given()
    else:
        defaults["SECRET_KEY"] = embedded.keys(ground).secret_key
    if not has_given_servers():
        servers = embedded.start(ground, lambda: runtime.packages_for(ground), for_tests=for_tests)
        os.environ.update(embedded.environment(servers))
        defaults["EMAIL_URL"] = f"filemail:///{ground.folder('mail')}"
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    return World(ground, servers)


def our_ground() -> Ground:
    """The checked var of this instance, made where it is not there yet."""
    return open_ground(var_folder(), service_account())
