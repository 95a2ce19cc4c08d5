"""What a refusal looks like, everywhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input: where it stands, what stood there, what would be accepted.

    `path` names the place in the terms of the input (`compute.mfu`, `line 7, BilledCost`).
    """

    path: str
    value: Any
    message: str
    accepted: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The fault as the JSON of the commands and the API shows it."""
        return asdict(self)


class DomainError(Exception):
    """A rule of the product was about to be broken. The message says what to do instead."""

    def __init__(self, message: str, *, code: str = "refused", faults: list[Fault] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.faults = faults or []


class NotAllowed(DomainError):
    """The person may see this but not change it. The message says who may."""

    def __init__(self, message: str, *, code: str = "not_allowed") -> None:
        super().__init__(message, code=code)
