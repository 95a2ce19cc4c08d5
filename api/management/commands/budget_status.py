"""`manage.py budget_status`: what stands on every budget line."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from api.line_answers import line_answers
from api.projects import project_named
from budgets.models import BudgetLine

AT_ONCE = 500


class Command(BaseCommand):
    help = "Say what stands on the budget lines: of one project, or all; now, or at the end of a day."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", default="", metavar="SLUG")
        parser.add_argument("--on", type=day, metavar="DATE", help="at the end of this day")
        parser.add_argument("--json", action="store_true", help="one JSON value per line")

    def handle(self, *args: Any, **options: Any) -> None:
        lines = BudgetLine.objects.select_related("project__team").order_by("project__slug", "start", "category", "pk")
        if options["project"]:
            lines = lines.filter(project=project_named(options["project"]))
        found = list(lines)
        now = timezone.now()
        for start in range(0, len(found), AT_ONCE):
            for answer in line_answers(found[start : start + AT_ONCE], on=options["on"], now=now):
                self._say(answer, options["json"])

    def _say(self, answer: dict[str, Any], as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(
            f"{answer['project']} {answer['category']} {answer['period']['start']}: "
            f"budget {answer['budget']}, actual {answer['actual']}, committed {answer['committed']}, "
            f"headroom {answer['headroom']} {answer['currency']}"
        )


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a date such as 2027-01-31") from None
