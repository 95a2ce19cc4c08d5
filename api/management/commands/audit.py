"""`manage.py audit`: work every line, the rollup and the whole out once more, and report every difference."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from overruns.audit import run_audit


class Command(BaseCommand):
    help = "Work every figure out once more by another way; exit status 1 where one differs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON value")

    def handle(self, *args: Any, **options: Any) -> None:
        audit = run_audit(now=timezone.now())
        if options["json"]:
            answer = {"lines": audit.lines, "differences": audit.count, "examples": audit.differences}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        else:
            self.stdout.write(f"{audit.lines} lines, {audit.count} differences, {audit.seconds} s")
            for each in audit.differences:
                figures = f"{each['kept']} kept, {each['recomputed']} recomputed"
                self.stdout.write(f"{each['of']}, {each['figure']}: {figures}")
        if audit.count:
            sys.exit(1)
