"""What reading noticed without refusing: counted by kind, with the first lines of each."""

from __future__ import annotations

from collections import Counter

LINES_KEPT = 5


class Notes:
    """Quality warnings of one delivery."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: dict[str, list[int]] = {}
        self.details: dict[str, list[str]] = {}
        self.inner: Counter[str] = Counter()
        """Records inside of others that are no usage of their own (steps of a job), by kind: read, and skipped."""

    def warn(self, kind: str, *, line: int | None = None, detail: str = "", count: int = 1) -> None:
        """Count one more of a kind; the first few lines and details are kept."""
        self.counts[kind] += count
        lines = self.lines.setdefault(kind, [])
        if line is not None and len(lines) < LINES_KEPT:
            lines.append(line)
        details = self.details.setdefault(kind, [])
        if detail and detail not in details and len(details) < LINES_KEPT:
            details.append(detail)

    def warn_once(self, kind: str, *, detail: str = "") -> None:
        """Count a kind at most once a delivery."""
        if not self.counts[kind]:
            self.warn(kind, detail=detail)
