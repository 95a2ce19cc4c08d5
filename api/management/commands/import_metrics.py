"""`manage.py import_metrics`: take in the metrics of a run from its log, in the foreground."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import DomainError
from usage.runs import services
from usage.runs.models import Run


class Command(BaseCommand):
    help = "Import the metrics of a run: W&B history, MLflow file store, TensorBoard events, training logs, DCGM."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a file, or the folder of a run of MLflow")
        parser.add_argument("--run", required=True, metavar="SLUG")
        parser.add_argument("--create", action="store_true", help="make the run if it is not there")
        parser.add_argument("--format", default="", metavar="F")
        parser.add_argument("--at", default="", metavar="TIME", help="when the file was taken, where it does not say")
        parser.add_argument("--json", action="store_true", help="one JSON value")

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(options["file"])
        if not path.exists():
            raise CommandError(_("There is no file %(name)s.") % {"name": path}, returncode=2)
        at = moment(options["at"]) if options["at"] else None
        try:
            with transaction.atomic():
                run = self._run(options)
                answer = services.import_metrics(run, by=None, path=path, format=options["format"], at=at)
        except DomainError as refusal:
            self._refuse(options, refusal)
            sys.exit(1)
        if options["json"]:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(
            f"{answer['run']}: {answer['points']} points of {len(answer['series'])} series, {answer['steps']} steps, "
            f"the last {answer['last_step']}; {answer['ignored']} ignored"
        )

    def _run(self, options: dict[str, Any]) -> Run:
        slug = options["run"]
        if options["create"] and not Run.objects.filter(slug=slug).exists():
            return services.open_run(by=None, slug=slug)
        return services.run_named(slug)

    def _refuse(self, options: dict[str, Any], refusal: DomainError) -> None:
        errors = [fault.as_dict() for fault in refusal.faults] or [{"message": refusal.message}]
        if options["json"]:
            self.stdout.write(json.dumps({"run": options["run"], "errors": errors}, ensure_ascii=False, default=str))
        self.stderr.write(refusal.message)


def moment(text: str) -> datetime:
    """A time of ISO 8601; without an offset it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(_("--at needs a time such as 2025-03-01T08:00:00Z."), returncode=2) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
