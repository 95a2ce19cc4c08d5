"""How reading says no: to a whole file, to one row, or quietly to a row that is no usage."""

from __future__ import annotations

from core.errors import DomainError, Fault


class FileRefused(DomainError):
    """The delivery cannot be taken and changes nothing. `faults` name every place at once."""

    def __init__(self, message: str, *, column: str = "", value: str = "", faults: list[Fault] | None = None) -> None:
        super().__init__(message, code="file_refused", faults=faults or [Fault(column, value, message)])


class RowFault(Exception):
    """One row cannot be taken: which column, what stood there, why."""

    def __init__(self, column: str, value: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column
        self.value = value
        self.reason = reason


class RowSkipped(Exception):
    """The row is no usage by the rules of its format (a job step, a totals row); `kind` is counted."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind
