"""`manage.py import_usage`: deliver usage files in the foreground, through the same code as the worker."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from api import judging
from core.errors import DomainError
from usage import services
from usage.models import Import, Meaning, Source

DONE = (Import.Status.LIVE, Import.Status.UNCHANGED)


class Command(BaseCommand):
    help = "Import usage or billing files into a source."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--source", required=True, metavar="SLUG")
        parser.add_argument("--create", action="store_true", help="make the source if it is not there")
        parser.add_argument("--format", default="", metavar="F")
        parser.add_argument("--setting", action="append", default=[], metavar="K=V", dest="pairs")
        parser.add_argument(
            "--together", action="store_true", help="the files are the parts of one delivery: one import, one answer"
        )
        parser.add_argument("--no-judge", action="store_true", help="leave the budget lines to the worker")
        parser.add_argument("--json", action="store_true", help="one JSON value per line")

    def handle(self, *args: Any, **options: Any) -> None:
        settings = dict(pair_of(text) for text in options["pairs"])
        missing = [name for name in options["files"] if not Path(name).is_file()]
        if missing:
            raise CommandError(_("There is no file %(name)s.") % {"name": ", ".join(missing)}, returncode=2)
        names: list[str] = options["files"]
        deliveries = [names] if options["together"] else [[name] for name in names]
        answers = [self._import(parts, settings, options) for parts in deliveries]
        self._warn_of_parts(answers)
        if any(answer["status"] not in DONE for answer in answers):
            sys.exit(1)

    def _import(self, names: list[str], settings: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
        name = ", ".join(names)
        try:
            source = self._source(options, settings)
            with ExitStack() as opened:
                delivery = services.receive_files(
                    source=source,
                    by=None,
                    parts=[(part, opened.enter_context(Path(part).open("rb"))) for part in names],
                    format=options["format"],
                    settings=settings,
                )
        except DomainError as refusal:
            answer = refused(name, options["source"], refusal)
        else:
            answer = {**services.run_import(delivery.pk), "file": name}
            if not options["no_judge"]:
                self._judge()
        self._say(answer, options["json"])
        return answer

    def _warn_of_parts(self, answers: list[dict[str, Any]]) -> None:
        """Where a statement took the place of one that came in the same call: were they parts of one?"""
        seen: dict[str, str] = {}
        for answer in answers:
            if answer.get("meaning") != Meaning.STATEMENT:
                continue
            for scope in {*answer["scopes"], *(change["scope"] for change in answer.get("held_changes", []))}:
                if scope in seen and answer["status"] != Import.Status.UNCHANGED:
                    message = _("%(file)s takes the place of %(earlier)s in %(scope)s. Parts of one bill: --together.")
                    self.stderr.write(message % {"file": answer["file"], "scope": scope, "earlier": seen[scope]})
                seen[scope] = answer["file"]

    def _source(self, options: dict[str, Any], settings: dict[str, str]) -> Source:
        slug = options["source"]
        if options["create"] and not Source.objects.filter(slug=slug).exists():
            return services.open_source(by=None, slug=slug, format=options["format"], settings=settings)
        return services.source_named(slug)

    def _judge(self) -> None:
        """Judge the budget lines that were touched, as the worker does after an import."""
        judging.judge_touched()

    def _say(self, answer: dict[str, Any], as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(
            f"{answer['file']}: {answer['status']}, {answer['rows_accepted']} of {answer['rows_read']} rows accepted, "
            f"{answer['rows_rejected']} rejected, {answer['rows_written']} written, {answer['rows_closed']} ended"
        )
        for error in answer["errors"]:
            place = f"line {error['line']}, " if error["line"] else ""
            self.stderr.write(f"  {place}{error['column']}: {error['value']!r} {error['reason']}")
        for reason in answer.get("held", []):
            self.stderr.write(f"  {reason}")


def pair_of(text: str) -> tuple[str, str]:
    """`K=V` as its two halves; anything else is a wrong call."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(_("--setting needs K=V, got %(text)s.") % {"text": text}, returncode=2)
    return name.strip(), value


def refused(name: str, source: str, refusal: DomainError) -> dict[str, Any]:
    """The answer for a delivery that was refused before it became an import."""
    faults = [
        {"line": None, "column": fault.path, "value": fault.value, "reason": f"{fault.message} ({fault.accepted})"}
        for fault in refusal.faults
    ]
    plain = {"line": None, "column": "", "value": None, "reason": refusal.message}
    return {
        **services.EMPTY_ANSWER,
        "file": name,
        "source": source,
        "status": "refused",
        "errors": faults or [plain],
    }
