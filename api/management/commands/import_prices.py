"""`manage.py import_prices`: add the rows of a price file that change something."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from core.errors import DomainError
from estimates import queries, services
from teams.models import User


class Command(BaseCommand):
    help = "Import a CSV or XLSX file of prices. With one fault in it nothing is added."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--by", default="", metavar="EMAIL", help="the price keeper who enters them")
        parser.add_argument("--preview", action="store_true", help="only say what would change")
        parser.add_argument("--json", action="store_true", help="one JSON value per line")

    def handle(self, *args: Any, **options: Any) -> None:
        file = Path(options["file"])
        if not file.is_file():
            raise CommandError(_("There is no file %(name)s.") % {"name": file}, returncode=2)
        keeper = User.objects.filter(email__iexact=options["by"]).first()
        if options["by"] and keeper is None:
            raise CommandError(_("Nobody signs in as %(email)s.") % {"email": options["by"]}, returncode=2)
        content = file.read_bytes()
        preview = queries.preview_import(content)
        answer: dict[str, Any] = {"file": options["file"], "counts": preview.counts, "drafts": preview.drafts.count()}
        if preview.faults:
            answer["errors"] = [fault.as_dict() for fault in preview.faults]
        elif not options["preview"]:
            answer |= self.write(content, keeper)
        self.say(answer, options["json"])
        if "errors" in answer:
            sys.exit(1)

    def write(self, content: bytes, keeper: User | None) -> dict[str, Any]:
        try:
            return {"added": len(services.import_prices(content, by=keeper))}
        except DomainError as refused:
            return {"errors": [{"path": "", "value": None, "message": refused.message, "accepted": ""}]}

    def say(self, answer: dict[str, Any], as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        counts = ", ".join(f"{count} {kind}" for kind, count in answer["counts"].items()) or "no rows"
        self.stdout.write(f"{answer['file']}: {counts}; {answer['drafts']} drafts touched")
        for error in answer.get("errors", []):
            self.stderr.write(f"  {error['path']}: {error['value']!r} {error['message']} ({error['accepted']})")
