"""The activity log as sentences: what each verb says, and where its subject is found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils import formats
from django.utils.functional import Promise
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from core.months import Month
from estimates.baselines.models import BaselineQuantity
from estimates.models import PriceUnit
from teams.labels import CATEGORIES
from teams.models import Activity
from web import figures

LABELS: dict[str, Any] = {str(category): label for category, label in CATEGORIES.items()}

PRODUCT = _("Headroom")
"""Who did what no person did."""

SENTENCES: dict[str, str | Promise] = {
    "project.opened": _("{who} opened {project}"),
    "person.renamed": _("{who} changed the name from {old} to {name}"),
    "token.issued": _("{who} made the key {name}"),
    "token.revoked": _("{who} revoked the key {name}"),
    "webhook.added": _("{who} made the webhook {name} to {host}"),
    "webhook.disabled": _("{who} disabled the webhook {name}"),
    "webhook.enabled": _("{who} enabled the webhook {name} again"),
    "messages.sent_again": _("{who} had {count} messages sent again that were given up"),
    "project.quiet": _("{who} keeps the warnings of {project} in the house until {muted_until}"),
    "project.heard": _("{who} lets the warnings of {project} out again"),
    "estimate.created": _("{who} estimated a plan: {total}"),
    "estimate.revised": _("{who} changed a plan: {before} → {total}"),
    "estimate.frozen": _("The estimate of {who} is frozen at {total}"),
    "price.added": _("{who} entered a price for {item}: {money} per {unit}, valid from {valid_from}"),
    "prices.imported": _("{who} imported {rows} prices"),
    "rate.entered": _("{who} entered the exchange rate of {month}: 1 {base} = {rate} {quote}"),
    "baseline.recorded": _("{who} wrote down what {runs} runs taught: {quantity} {value}"),
    "accelerator.added": _("{who} added the accelerator {name}"),
    "accelerator.changed": _("{who} changed the accelerator {name}"),
    "source.opened": _("{who} opened the source {slug}"),
    "cluster.opened": _("{who} entered the cluster {name}"),
    "cluster.cards_added": _("{who} entered cards of the cluster {name}: {cards}"),
    "cluster.cards_ended": _("{who} said when cards of the cluster {name} go: {cards}"),
    "cluster.maintenance_planned": _("{who} planned a maintenance of the cluster {name}: {reason}"),
    "cluster.maintenance_cancelled": _("{who} took back a maintenance of the cluster {name}: {reason}"),
    "cluster.reservation_planned": _("{who} reserved cards of the cluster {name}: {reason}"),
    "cluster.reservation_cancelled": _("{who} took back a reservation of the cluster {name}: {reason}"),
    "cluster.partition_set": _("{who} said which cards the partition {partition} of the cluster {name} hands out"),
    "cluster.partition_dropped": _("{who} took the partition {partition} out of the cluster {name}"),
    "source.expected": _("{who} said how often the source {slug} is expected to bring data"),
    "source.silent": _("The source {slug} has been without data for longer than it may be"),
    "source.heard": _("The source {slug} brings data again"),
    "feed.set": _("{who} set where the source {slug} finds its files"),
    "feed.asked": _("{who} had the source {slug} looked at"),
    "source.mapped": _("{who} mapped the columns of the source {slug}: {columns}"),
    "period.final": _("{who} made {period} of {source} final: {reason}"),
    "period.reopened": _("{who} opened {period} of {source} again: {reason}"),
    "source.final_after": _("{who} set after how many days months of {slug} become final"),
    "import.corrected": _("{who} mended {count} rejected rows of {source}: {subject}"),
    "import.received": _("{who} delivered {subject} for {source}"),
    "import.cancelled": _("{who} cancelled an import of {source}"),
    "import.made_live": _("{who} made {name} of {source} live again: {reason}"),
    "import.confirmed": _("{who} let an import of {source} go ahead: {reason}"),
    "booking.added": _("{who} booked on {project}: {money}, {category}"),
    "bookings.added": _("{who} booked {lines} lines on {project}"),
    "booking.reversed": _("{who} reversed {subject}, {money}: {reason}"),
    "recurring.added": _("{who} wrote down a recurring cost of {project}: {name}, from {start}"),
    "recurring.ended": _("{who} ended the recurring cost {name}; its last month is {end}"),
    "recurring.edited": _("{who} changed {month} of {name} from {old} to {new}: {reason}"),
    "recurring.confirmed": _("{who} confirmed recurring costs of {project}: {lines} lines of {months}"),
    "rule.written": _("{who} wrote the allocation rule {name}"),
    "rule.changed": _("{who} changed the allocation rule {name}"),
    "rule.retired": _("{who} retired the allocation rule {name}"),
    "rule.moved": _("{who} moved the allocation rule {name}"),
    "rules.applied": _("{who} applied the allocation rules to open periods"),
    "usage.reassigned": _("{who} re-assigned usage from {start} on by hand: {reason}"),
    "usage.reassignment_reversed": _("{who} reversed a re-assignment: {reason}"),
    "unallocated.owned": _("{who} named who answers for unallocated cost: {name}"),
    "run.opened": _("{who} opened the run {slug}"),
    "run.state": _("{who} said of the run {slug}: {state}"),
    "run.metrics": _("{who} delivered {points} values of the run {slug}"),
    "line.opened": _("{who} opened the line {category}"),
    "lines.imported": _("{who} opened {lines} lines of {project} from {name}: {money}, of which {spent} are spent"),
    "line.granted": _("{who} granted {money} to {category}: {reason}"),
    "line.hours_granted": _("{who} granted {hours} accelerator-hours to {category}: {reason}"),
    "line.hours_transferred": _("{who} moved {hours} accelerator-hours of {category} to another line: {reason}"),
    "line.hours_released": _("{who} gave back {hours} accelerator-hours of {category}: {reason}"),
    "line.frozen": _("{who} froze {category}: {reason}"),
    "line.unfrozen": _("{who} lifted the freeze of {category}: {reason}"),
    "line.rollover_set": _("{who} said what {category} carries over at the end of its period"),
    "line.closed": _("{category} was closed by {who} with an actual of {actual}; {carried} went on to the next period"),
    "line.reopened": _("{who} opened {category} again: {reason}"),
    "month.closed": _("{who} closed {month} with {lines} lines"),
    "month.reopened": _("{who} opened {month} again: {reason}"),
    "threshold.added": _("{who} set a threshold on {subject}"),
    "threshold.stopped": _("{who} stopped watching {threshold}"),
    "jobs.stopped": _("Jobs of {project} may not start: {reason}"),
    "jobs.released": _("{who} lets jobs of {project} start again: {reason}"),
    "audit.differs": _("The audit found {count} figures that differ from what pages show"),
    "guard.set": _("{who} set a guard: {guard}"),
    "guard.ended": _("{who} ended the guard {guard}"),
    "guard.acknowledged": _("{who} stated why {guard} was reached: {cause}"),
    "guard.muted": _("{who} muted {guard} until {muted_until}"),
    "money.transferred": _("{who} transferred {money} from {source} to {target}"),
    "money.released": _("{who} released {money} of {category}: {reason}"),
    "asset.added": _("{who} made {subject} an asset: {money}"),
    "asset.cleared": _("{who} said of {subject}: {new} (before: {old}): {reason}"),
    "asset.used": _("{project} uses {subject} from {month} on, said {who}"),
    "asset.use_ended": _("{project} uses {subject} no more from {month} on, said {who}"),
    "asset.charged": _("{month} of {subject} was charged: {money}"),
    "asset.charge_reversed": _("{who} took back what {subject} charged for {month}: {reason}"),
    "hold.started": _("The job {job} runs: what {who} held for it is committed"),
    "hold.ended": _("{who} let go what was held for the job {job}"),
    "proposal.created": _("{who} began {subject}"),
    "proposal.saved": _("{who} changed {subject}"),
    "proposal.submitted": _("{who} submitted {subject}, asking for {ask}"),
    "proposal.withdrawn": _("{who} withdrew {subject}"),
    "proposal.closed": _("{who} closed {subject}; {released} went back to the lines"),
    "proposal.step_approved": _("{who} approved a step of {subject}"),
    "step.escalated": _("{subject} waits too long; the next role was told"),
    "proposal.approved": _("{who} approved {subject}: {money}"),
    "proposal.partly_approved": _("{who} approved a part of {subject}: {money} of {ask}"),
    "proposal.rejected": _("{who} rejected {subject}: {reason}"),
    "proposal.changes_requested": _("{who} asked for changes to {subject}: {reason}"),
    "flag.crossed": _("{subject}: {basis} {value}, a threshold is at {limit}"),
    "flag.uncrossed": _("{subject}: {basis} {value}, below the threshold at {limit} again"),
    "flag.acknowledged": _("{who} stated the cause of the warning on {subject}: {cause}"),
    "flag.muted": _("{who} muted the warning on {subject} until {muted_until}"),
    "retrospective.opened": _("A retrospective of {subject} opened; it is due on {due_on}"),
    "retrospective.written": _("{who} wrote in the retrospective of {subject}"),
    "retrospective.closed": _("{who} closed the retrospective of {subject}"),
    "action.added": _("{who} gave {owner} something to do: {text}"),
    "action.done": _("{who} did what was agreed: {text}"),
}
"""Every verb that a service records; a test holds the list complete. `{who}`, `{project}` and `{subject}` are links or
names, `{money}` is the fact `amount`, the rest are the facts of the row, told as people read them."""
MONEY_FACTS = ("ask", "released", "total", "before", "value", "limit", "difference", "actual", "carried", "spent")
CATEGORY_FACTS = ("category", "source", "target")
QUIET = ("estimate.created", "estimate.revised", "estimate.frozen", "proposal.saved")
"""Told in the log, left out where only a few lines have room: the proposal beside them says the same."""
BASES = {"actual": _("actual"), "committed": _("actual and committed"), "forecast": _("forecast")}
DAY_FACTS = ("valid_from", "start", "end", "muted_until", "due_on")


class Words(dict):
    """Facts for a sentence; one that the row lacks is a dash."""

    def __missing__(self, key: str) -> str:
        return figures.NOTHING


def sentence(row: Activity) -> SafeString:
    """What happened, in the language of the moment, with links to what it happened to."""
    words = Words({name: conditional_escape(told(name, value, row.facts)) for name, value in row.facts.items()})
    words["who"] = format_html("<b>{}</b>", row.by or PRODUCT)
    words["money"] = conditional_escape(money_of(row.facts, "amount"))
    words["project"] = project_link(row)
    words["subject"] = subject_link(row)
    pattern = SENTENCES.get(row.verb)
    if pattern is None:
        return format_html("{}: {}", words["who"], row.verb)
    return mark_safe(str(pattern).format_map(words))  # every word is escaped above, the pattern is ours


def told(name: str, value: Any, facts: dict[str, Any]) -> str:
    """A fact as people read it: money with its currency, a category by its name, a day in their language."""
    if name in MONEY_FACTS:
        return money_of(facts, name)
    if name in CATEGORY_FACTS and value in LABELS:
        return str(LABELS[value])
    if name == "unit" and value in PriceUnit.values:
        return str(PriceUnit(value).label)
    if name == "quantity" and value in BaselineQuantity.values:
        return str(BaselineQuantity(value).label)
    if name == "basis" and value in BASES:
        return str(BASES[value])
    if name in DAY_FACTS and isinstance(value, str):
        return formats.date_format(date.fromisoformat(value), "DATE_FORMAT")
    if name == "month" and isinstance(value, str):
        return formats.date_format(Month.parse(value).start, "YEAR_MONTH_FORMAT")
    if value is None or value == "":
        return figures.NOTHING
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def money_of(facts: dict[str, Any], name: str) -> str:
    try:
        return figures.money_text(Decimal(str(facts.get(name))), str(facts.get("currency") or ""))
    except InvalidOperation:
        return figures.NOTHING


def project_link(row: Activity) -> SafeString | str:
    if row.project is None:
        return figures.NOTHING
    return link("project", (row.project.slug,), str(row.project))


def link(name: str, arguments: tuple, text: str) -> SafeString:
    try:
        address = reverse(name, args=arguments)
    except NoReverseMatch:
        return conditional_escape(text)
    return format_html('<a href="{}">{}</a>', address, text)


def proposal_link(row: Activity) -> SafeString | str:
    title = row.facts.get("title") or f"P-{row.subject_id}"
    return link("proposal", (row.subject_id,), title)


def import_link(row: Activity) -> SafeString | str:
    return link("import", (row.subject_id,), row.facts.get("name") or f"#{row.subject_id}")


def booking_link(row: Activity) -> SafeString | str:
    return link("booking", (row.subject_id,), f"B-{row.subject_id}")


def run_link(row: Activity) -> SafeString | str:
    slug = str(row.facts.get("slug") or "")
    return link("run", (slug,), slug or figures.NOTHING)


def asset_link(row: Activity) -> SafeString | str:
    return link("asset", (row.subject_id,), row.facts.get("name") or figures.NOTHING)


def flag_link(row: Activity) -> SafeString | str:
    return link("flag", (row.subject_id,), category_of(row))


def retrospective_link(row: Activity) -> SafeString | str:
    return link("retrospective", (row.subject_id,), str(row.project or figures.NOTHING))


def line_link(row: Activity) -> SafeString | str:
    if row.project is None:
        return conditional_escape(category_of(row))
    return link("line", (row.project.slug, row.subject_id), category_of(row))


def category_of(row: Activity) -> str:
    category = row.facts.get("category")
    return str(LABELS[category]) if category in LABELS else str(row.project or figures.NOTHING)


SUBJECTS: dict[str, Callable[[Activity], SafeString | str]] = {
    "teams.project": project_link,
    "budgets.proposal": proposal_link,
    "budgets.budgetline": line_link,
    "budgets.asset": asset_link,
    "usage.import": import_link,
    "usage.run": run_link,
    "usage.booking": booking_link,
    "overruns.flag": flag_link,
    "retrospectives.retrospective": retrospective_link,
}


def subject_link(row: Activity) -> SafeString | str:
    """The thing itself, as a link where it has a page."""
    find = SUBJECTS.get(row.subject_type)
    return find(row) if find else conditional_escape(row.facts.get("name", figures.NOTHING))
