"""`manage.py estimate`: what training plans cost, one answer per plan."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from core.errors import Fault
from estimates import queries
from estimates.engine.explain import UnknownQuantity
from estimates.wording import fault_in_language
from teams.models import Organisation, Team

STANDARD_INPUT = "-"
AT_ONCE = 64
"""Plans that are computed together: enough to be quick, few enough that answers flow."""


@dataclass(frozen=True)
class Document:
    """A plan as text, and what to call it where it has no name of its own."""

    label: str
    text: bytes


class View(TypedDict):
    """The day whose prices are used; whether it lies behind us, as then what starts later is not seen; whose past
    runs count."""

    prices_on: date
    seen_from: date | None
    team: int | None


def view_of(asked: date | None, *, today: date, team: int | None = None) -> View:
    """Prices as one sees them today, announced ones included, or as one saw them on a past day."""
    on = asked or today
    return {"prices_on": on, "seen_from": on if on < today else None, "team": team}


def team_named(slug: str) -> int | None:
    """The team whose past runs count; those of the organisation alone where none is named."""
    if not slug:
        return None
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        known = ", ".join(Team.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(
            _("There is no team %(slug)s; there are: %(known)s.") % {"slug": slug, "known": known}, returncode=2
        )
    return team.pk


class Command(BaseCommand):
    help = "Estimate training plans (YAML or JSON files, or - for JSON lines on standard input)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("plans", nargs="+", metavar="PLAN")
        parser.add_argument(
            "--prices-on",
            type=day,
            metavar="DATE",
            help="the day whose prices are used; today (of a past day: without what starts later)",
        )
        parser.add_argument("--team", default="", metavar="SLUG", help="the team whose past runs are the baseline")
        parser.add_argument("--samples", type=sample_count, default=queries.SAMPLES, metavar="N")
        parser.add_argument("--diff", action="store_true", help="what makes the second of two plans differ")
        parser.add_argument("--explain", default="", metavar="QUANTITY", help="the tree of reasons of a quantity")
        parser.add_argument("--json", action="store_true", help="one JSON value per line")

    def handle(self, *args: Any, **options: Any) -> None:
        with translation.override(language_of(os.environ)):
            self.answer(options)

    def answer(self, options: dict[str, Any]) -> None:
        check_call(options)
        documents = documents_of(options["plans"], sys.stdin.buffer)
        today = Organisation.current().today(timezone.now())
        view = view_of(options["prices_on"], today=today, team=team_named(options["team"]))
        if options["diff"]:
            outcomes = differences(documents, view, options["samples"])
        elif options["explain"]:
            outcomes = explanations(documents, options["explain"], view, options["samples"])
        else:
            outcomes = estimates(documents, view, options["samples"])
        refused = False
        for outcome in outcomes:
            refused |= "errors" in outcome
            self.say(outcome, options["json"])
        if refused:
            sys.exit(1)

    def say(self, outcome: dict[str, Any], as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(outcome, ensure_ascii=False, allow_nan=False))
        elif "errors" in outcome:
            self.stderr.write(refusal_text(outcome))
        else:
            self.stdout.write(outcome_text(outcome))


def language_of(environment: Mapping[str, str]) -> str:
    """The language of the answers: that of the terminal (`LANGUAGE`, as gettext reads it) where it is Chinese."""
    return "zh-hans" if environment.get("LANGUAGE", "").lower().startswith("zh") else "en"


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a date such as 2027-01-31") from None


def sample_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= queries.MOST_SAMPLES:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 to {queries.MOST_SAMPLES}")
    return int(text)


def check_call(options: dict[str, Any]) -> None:
    """A wrong call ends before anything is computed, with status 2."""
    if options["diff"] and (len(options["plans"]) != 2 or options["explain"]):
        raise CommandError(_("--diff takes exactly two plans."), returncode=2)
    missing = [name for name in options["plans"] if name != STANDARD_INPUT and not Path(name).is_file()]
    if missing:
        raise CommandError(_("There is no file %(name)s.") % {"name": ", ".join(missing)}, returncode=2)


def documents_of(names: list[str], lines: Iterable[bytes]) -> Iterator[Document]:
    """The plans in order; standard input holds one in each line."""
    for name in names:
        if name != STANDARD_INPUT:
            yield Document(name, Path(name).read_bytes())
            continue
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield Document(f"line {number}", line)


def estimates(documents: Iterator[Document], view: View, samples: int) -> Iterator[dict[str, Any]]:
    """The answers, in order; plans are taken in portions."""
    while portion := list(islice(documents, AT_ONCE)):
        wanted = [(document.text, samples) for document in portion]
        results = queries.answers_for(
            wanted, prices_on=view["prices_on"], seen_from=view["seen_from"], teams=[view["team"]] * len(wanted)
        )
        for document, result in zip(portion, results, strict=True):
            yield result.answer if result.answer is not None else refused(document, result.faults)


def explanations(documents: Iterator[Document], quantity: str, view: View, samples: int) -> Iterator[dict[str, Any]]:
    """The tree of one quantity for each plan."""
    for document in documents:
        read = queries.read_plan(document.text)
        if read.plan is None:
            yield refused(document, read.faults)
            continue
        try:
            tree = queries.explanation_of(read.plan, quantity, **view, samples=samples)
        except UnknownQuantity as unknown:
            yield {"plan": read.plan.name, "errors": [Fault("explain", quantity, str(unknown), "").as_dict()]}
        else:
            yield {"plan": read.plan.name, "quantity": quantity, "explanation": tree}


def differences(documents: Iterator[Document], view: View, samples: int) -> Iterator[dict[str, Any]]:
    """What makes the second plan cost more or less than the first, by cause."""
    pair = [(document, queries.read_plan(document.text)) for document in documents]
    bad = [refused(document, read.faults) for document, read in pair if read.plan is None]
    if bad or len(pair) != 2:
        yield from bad
        return
    first, second = (read.plan for _document, read in pair)
    if first is not None and second is not None:
        yield queries.difference_of(first, second, **view, samples=samples)


def refused(document: Document, faults: Iterable[Fault]) -> dict[str, Any]:
    return {"plan": document.label, "errors": [fault_in_language(fault).as_dict() for fault in faults]}


def refusal_text(outcome: dict[str, Any]) -> str:
    lines = [f"{outcome['plan']}:"]
    for error in outcome["errors"]:
        accepted = f" ({error['accepted']})" if error["accepted"] else ""
        lines.append(f"  {error['path']}: {error['message']}{accepted}")
    return "\n".join(lines)


def outcome_text(outcome: dict[str, Any]) -> str:
    """An answer in a few lines, for reading."""
    if "explanation" in outcome:
        return "\n".join(tree_lines(outcome["explanation"], 0))
    if "causes" in outcome:
        first, second = outcome["plans"]
        causes = [f"  {one['cause']}: {amount_text(one['amount'])}" for one in outcome["causes"]]
        return "\n".join([f"{first} → {second}: {amount_text(outcome['difference'])}", *causes])
    total, currency = outcome["cost"]["total"], outcome["currency"]
    if total["mean"] is None:
        missing = ", ".join(use["item"] for use in outcome["price_missing"]) or "not feasible"
        return f"{outcome['plan']}: no total ({missing})"
    lines = [
        f"{outcome['plan']}: {total['mean']:,.0f} {currency} (P10 {total['p10']:,.0f}, P90 {total['p90']:,.0f})",
        f"  ask: {outcome['ask']['total']:,.0f} {currency}",
    ]
    lines += [
        f"  {cause}: {figures['mean']:,.0f} {currency}"
        for cause, figures in outcome["cost"]["by_cause"].items()
        if figures["mean"]
    ]
    lines += [f"  ! {warning['message']}" for warning in outcome.get("warnings", [])]
    return "\n".join(lines)


def amount_text(amount: float | None) -> str:
    return "not known" if amount is None else f"{amount:+,.0f}"


def tree_lines(node: dict[str, Any], depth: int) -> Iterator[str]:
    value = node["value"]
    shown = value["p50"] if isinstance(value, dict) else value
    reason = node.get("formula") or node.get("origin", "")
    yield f"{'  ' * depth}{node['name']} = {shown} {node['unit']}  [{reason}]"
    for child in node["inputs"]:
        yield from tree_lines(child, depth + 1)
