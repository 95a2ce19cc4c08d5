"""`manage.py usage_total`: sums of usage by any dimension, now or as known at a time."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.management.base import BaseCommand

from api.usage_answers import totals_answer
from core.errors import DomainError
from core.vocabulary import Basis
from usage.totals import DIMENSIONS, Question, default_zone


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a day such as 2025-01-31") from None


def moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time such as 2025-01-31T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def zone(text: str) -> str:
    try:
        return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ArgumentTypeError(f"{text!r} is not a time zone such as Asia/Shanghai") from None


class Command(BaseCommand):
    help = "Sum usage. Days are half-open. Dimensions: " + ", ".join(DIMENSIONS)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", default="", metavar="S")
        parser.add_argument("--project", default="", metavar="P")
        parser.add_argument("--from", type=day, dest="start", metavar="DATE")
        parser.add_argument("--to", type=day, dest="end", metavar="DATE")
        parser.add_argument("--timezone", type=zone, metavar="Z")
        parser.add_argument("--by", default="", metavar="DIMENSION[,…]")
        parser.add_argument("--basis", choices=[str(basis) for basis in Basis], default=str(Basis.BILLED))
        parser.add_argument("--known-at", type=moment, metavar="TIMESTAMP")
        parser.add_argument("--json", action="store_true", help="one JSON value")

    def handle(self, *args: Any, **options: Any) -> None:
        question = Question(
            source=options["source"],
            project=options["project"],
            start=options["start"],
            end=options["end"],
            zone=options["timezone"] or default_zone(options["source"]),
            by=[name.strip() for name in options["by"].split(",") if name.strip()],
            basis=options["basis"],
            known_at=options["known_at"],
        )
        try:
            answer = totals_answer(question)
        except DomainError as refusal:
            self.stdout.write(json.dumps({"errors": [fault.as_dict() for fault in refusal.faults]}, ensure_ascii=False))
            sys.exit(1)
        self._say(answer, options["json"])

    def _say(self, answer: dict[str, Any], as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        for group in [*answer["groups"], {"key": {"total": ""}, **answer}]:
            key = ", ".join(f"{name}={value}" for name, value in group["key"].items())
            money = ", ".join(f"{amount} {currency}" for currency, amount in group["totals"].items())
            self.stdout.write(f"{key}  {money}  {group['rows']} rows")
