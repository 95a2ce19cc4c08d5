"""`manage.py book_costs`: book files of lines that no meter sees, each whole or not at all."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from api import judging
from core.money import exact_text
from usage.bookings import files, services


class Command(BaseCommand):
    help = "Book files of invoice and journal lines (CSV, see docs/bookings.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--preview", action="store_true", help="say what would be booked, and book nothing")
        parser.add_argument("--no-judge", action="store_true", help="leave the budget lines to the worker")
        parser.add_argument("--json", action="store_true", help="one JSON value per line")

    def handle(self, *args: Any, **options: Any) -> None:
        missing = [name for name in options["files"] if not Path(name).is_file()]
        if missing:
            raise CommandError(_("There is no file %(name)s.") % {"name": ", ".join(missing)}, returncode=2)
        answers = [self._book(name, is_preview=options["preview"]) for name in options["files"]]
        if not options["preview"] and not options["no_judge"]:
            judging.judge_touched()
        for answer in answers:
            self._say(answer, as_json=options["json"])
        if any(answer["errors"] for answer in answers):
            sys.exit(1)

    def _book(self, name: str, *, is_preview: bool) -> dict[str, Any]:
        with Path(name).open("rb") as stream:
            content = stream.read(files.MOST_BYTES + 1)
        preview = services.preview_file(content, by=None, now=timezone.now())
        errors = [
            {"line": fault.line, "column": fault.column, "value": fault.value, "reason": fault.reason}
            | {"accepted": fault.accepted}
            for fault in preview.faults
        ]
        answer = {
            "file": name,
            "status": "refused" if errors else "preview",
            "lines_new": len(preview.new),
            "lines_known": preview.known_count,
            "totals": {currency: exact_text(amount) for currency, amount in sorted(preview.totals().items())},
            "bookings": [],
            "errors": errors,
        }
        if errors or is_preview:
            return answer
        booked = services.book_file(content, by=None, name=Path(name).name)
        return {**answer, "status": "booked" if booked else "unchanged", "bookings": [row.pk for row in booked]}

    def _say(self, answer: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(
            f"{answer['file']}: {answer['status']}, {answer['lines_new']} new lines, {answer['lines_known']} known"
        )
        for error in answer["errors"]:
            self.stderr.write(f"  line {error['line']}, {error['column']}: {error['value']!r} {error['reason']}")
