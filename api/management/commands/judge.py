"""`manage.py judge`: hold budget lines against their thresholds, now and in the foreground."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from api import judging
from api.projects import project_named
from budgets.models import BudgetLine


class Command(BaseCommand):
    help = "Judge budget lines: of one project, or all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", default="", metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="one JSON value")

    def handle(self, *args: Any, **options: Any) -> None:
        lines = BudgetLine.objects.all()
        if options["project"]:
            lines = lines.filter(project=project_named(options["project"]))
        answer = judging.judge_lines(list(lines.values_list("pk", flat=True)))
        if options["json"]:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(
            f"{answer['lines']} lines judged, {len(answer['crossed'])} thresholds reached, "
            f"{len(answer['uncrossed'])} left again, {answer['notifications']} people told"
        )
