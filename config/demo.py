"""The example organisation that `demo` shows: made through the same services as everything people do.

Dates are told from today, amounts from the estimates, so that the picture is the same whenever it is made: one line
within its limit, one past its warning line, one overrun, a proposal that waits, drafts that follow prices.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import Permission
from django.db import transaction
from django.utils import timezone

from budgets.hours import hours_asked
from budgets.models import ApprovalStep, BudgetLine, HoursEntry, Proposal, ProposalVersion
from budgets.queries import line_status
from budgets.services import approval, hours, ledger, proposals
from config import demo_cluster, demo_work
from config.demo_bills import DATA, GPU, NETWORK, POWER, STORAGE, Bill, Burn, months_of
from config.demo_bookings import book_invoices, book_people
from core.money import round_money
from core.months import Month, Period
from core.vocabulary import Category, TaskType
from estimates import services as estimates
from overruns import tasks as overruns
from retrospectives import services as retrospectives
from teams import services as teams
from teams.models import Activity, CostCentre, ExchangeRate, Membership, Organisation, Project, Role, Team, User
from usage import rules
from usage import services as usage
from usage.models import Source

PLANS = Path(__file__).resolve().parent.parent / "docs" / "plans"
ZONE = "Asia/Shanghai"

LOGINS = (
    ("researcher", "researcher@example.com", "Researcher", Role.MEMBER, "foundation-models"),
    ("manager", "manager@example.com", "Manager", Role.MANAGER, "foundation-models"),
    ("director", "director@example.com", "Director", Role.DIRECTOR, None),
    ("finance", "finance@example.com", "Finance", Role.FINANCE, None),
    ("operator", "operator@example.com", "Operator", Role.OPERATOR, None),
)
COLLEAGUES = (
    ("search-researcher@example.com", "Search researcher", Role.MEMBER, "search-relevance"),
    ("search-manager@example.com", "Search manager", Role.MANAGER, "search-relevance"),
    ("speech-researcher@example.com", "Speech researcher", Role.MEMBER, "speech"),
    ("speech-manager@example.com", "Speech manager", Role.MANAGER, "speech"),
    ("auditor@example.com", "Auditor", Role.AUDITOR, None),
)
TEAMS = (("Foundation models", "foundation-models"), ("Search relevance", "search-relevance"), ("Speech", "speech"))

SERVICES = {
    Category.COMPUTE: GPU,
    Category.STORAGE: STORAGE,
    Category.NETWORK: NETWORK,
    Category.DATA: DATA,
    Category.POWER_FACILITY: POWER,
}


RESERVES = {
    Category.COMPUTE: Decimal("0.06"),
    Category.DATA: Decimal("0.05"),
    Category.STORAGE: Decimal("0.10"),
    Category.PEOPLE_PLATFORM: Decimal("0.08"),
}
"""Of what was granted with the approval, so much is granted on top."""


@dataclass(frozen=True)
class Story:
    """A project with an approved proposal, and how much of each line it has spent by today."""

    name: str
    team: str
    task: TaskType
    currency: str
    plan: str
    changes: dict[str, Any]
    requester: str
    manager: str
    spent: dict[Category, Decimal]
    account: str


RESTATED = Decimal("1.006")
"""How much dearer the first month turned out."""
SPIKES = {23: Decimal("1.6"), 24: Decimal("1.9"), 25: Decimal("1.4")}
"""Days, from the first on, on which computing was dearer than usual."""

LADDER = "Base-1B ladder"
"""A project whose work is done."""
IN_HOURS = "Medicine continued pretraining"
"""A project whose computing has a budget of accelerator-hours too."""

STORIES = (
    Story(
        "Base-7B pretraining",
        "foundation-models",
        TaskType.PRETRAIN,
        "USD",
        "template-pretrain",
        {
            "name": "Base-7B v2",
            "data": {"tokens": "1.6T", "licence_cost": 90000},
            "network": {"egress_gb": 90000, "cross_region_gb": 240000},
        },
        "researcher@example.com",
        "manager@example.com",
        {
            Category.COMPUTE: Decimal("0.836"),
            Category.DATA: Decimal("0.817"),
            Category.STORAGE: Decimal("0.452"),
            Category.NETWORK: Decimal("1.049"),
            Category.PEOPLE_PLATFORM: Decimal("0.594"),
        },
        "acct-foundation",
    ),
    Story(
        "Medicine continued pretraining",
        "foundation-models",
        TaskType.CONTINUED_PRETRAIN,
        "USD",
        "template-continued-pretrain",
        {"name": "Base-7B medicine"},
        "researcher@example.com",
        "manager@example.com",
        {Category.COMPUTE: Decimal("0.41"), Category.DATA: Decimal("0.55"), Category.PEOPLE_PLATFORM: Decimal("0.38")},
        "acct-foundation",
    ),
    Story(
        "Support assistant",
        "search-relevance",
        TaskType.FINETUNE,
        "USD",
        "template-finetune-lora",
        {"name": "Support assistant adapter"},
        "search-researcher@example.com",
        "search-manager@example.com",
        {Category.COMPUTE: Decimal("0.62"), Category.DATA: Decimal("0.30"), Category.PEOPLE_PLATFORM: Decimal("0.44")},
        "acct-search",
    ),
    Story(
        LADDER,
        "foundation-models",
        TaskType.PRETRAIN,
        "USD",
        "template-pretrain",
        {
            "name": "Base-1B rungs",
            "model": {"parameters": "1.1B", "layers": 24, "hidden_size": 2048},
            "data": {"tokens": "250B", "raw_tb": 1, "clean_tb": 0.4},
            "compute": {"count": 32},
        },
        "researcher@example.com",
        "manager@example.com",
        {Category.COMPUTE: Decimal("0.88"), Category.DATA: Decimal("0.74"), Category.PEOPLE_PLATFORM: Decimal("0.52")},
        "acct-foundation",
    ),
    Story(
        "Speech recogniser",
        "speech",
        TaskType.PRETRAIN,
        "CNY",
        "template-pretrain",
        {
            "name": "Speech base",
            "currency": "CNY",
            "model": {"parameters": "1.1B", "layers": 24, "hidden_size": 2048},
            "data": {"tokens": "180B", "raw_tb": 12, "clean_tb": 5},
            "compute": {"count": 64},
        },
        "speech-researcher@example.com",
        "speech-manager@example.com",
        {Category.COMPUTE: Decimal("0.33"), Category.DATA: Decimal("0.47"), Category.PEOPLE_PLATFORM: Decimal("0.41")},
        "acct-speech",
    ),
)

AGREEMENT = "Example agreement of the organisation, 2026"
PRICES = (
    ("accelerator", "h100-sxm-80gb", "Cloud North", "region-1", "on_demand", "2.90", "USD"),
    ("accelerator", "h100-sxm-80gb", "Cloud North", "region-1", "committed", "2.35", "USD"),
    ("accelerator", "h100-sxm-80gb", "Cloud East", "east-1", "on_demand", "19.80", "CNY"),
    ("storage", "hot", "Cloud North", "region-1", "", "0.021", "USD"),
    ("storage", "archive", "Cloud North", "region-1", "", "0.002", "USD"),
    ("storage", "hot", "Cloud East", "east-1", "", "0.12", "CNY"),
    ("storage", "archive", "Cloud East", "east-1", "", "0.033", "CNY"),
    ("network", "egress", "Cloud North", "region-1", "", "0.085", "USD"),
    ("network", "cross_region", "Cloud North", "region-1", "", "0.02", "USD"),
    ("role", "research engineer", "", "", "", "14500", "USD"),
    ("role", "data engineer", "", "", "", "11800", "USD"),
    ("role", "platform engineer", "", "", "", "12600", "USD"),
    ("role", "research engineer", "", "", "", "62000", "CNY"),
    ("role", "data engineer", "", "", "", "48000", "CNY"),
    ("role", "platform engineer", "", "", "", "52000", "CNY"),
)


def fill() -> list[tuple[str, str, str]]:
    """Make the organisation if it is not there; answers role, e-mail and password of the five logins."""
    password = os.environ.get("HEADROOM_DEMO_PASSWORD") or secrets.token_urlsafe(9)
    now = timezone.now()
    with transaction.atomic():
        people = make_people(password)
        made = not Project.objects.exists()
        if made:
            make_reference_data(people, now)
    if made:
        tell_stories(people, now)
    return [(role, email, password) for role, email, *_rest in LOGINS]


def make_people(password: str) -> dict[str, User]:
    """The organisation, its teams and everybody in them; the five logins get the password."""
    Organisation.objects.update_or_create(
        singleton=True, defaults={"name": "Example Lab", "currency": "USD", "time_zone": ZONE}
    )
    groups = {slug: Team.objects.get_or_create(slug=slug, defaults={"name": name})[0] for name, slug in TEAMS}
    people = {}
    for email, name, role, team in (*(row[1:] for row in LOGINS), *COLLEAGUES):
        person, _made = User.objects.get_or_create(
            email=email, defaults={"name": name, "password": make_password(None)}
        )
        Membership.objects.get_or_create(user=person, team=groups[team] if team else None, role=role)
        people[email] = person
    give_password([people[row[1]] for row in LOGINS], password)
    keeper = people["finance@example.com"]
    Membership.objects.get_or_create(user=keeper, team=None, role=Role.PRICE_KEEPER)
    admit(keeper, "estimates", "accelerator", "price")
    admit(people["director@example.com"], "budgets", "approvalrule", "delegation")
    return people


def give_password(logins: list[User], password: str) -> None:
    """One password for all logins; hashing is slow, so only where it is not theirs already."""
    if check_password(password, logins[0].password):
        return
    hashed = make_password(password)
    for person in logins:
        person.password = hashed
        person.save(update_fields=["password"])


def admit(person: User, app: str, *tables: str) -> None:
    """Into the admin panel, for the tables that this person keeps."""
    person.is_staff = True
    person.save(update_fields=["is_staff"])
    person.user_permissions.set(Permission.objects.filter(content_type__app_label=app, content_type__model__in=tables))


def make_reference_data(people: dict[str, User], now: datetime) -> None:
    """Cost centres, the price agreement, exchange rates of the last and the coming months."""
    keeper = people["finance@example.com"]
    CostCentre.objects.bulk_create(
        CostCentre(code=code, name=name)
        for code, name in (("4100", "Models"), ("4200", "Products"), ("4300", "Speech"))
    )
    this_month = Month.of(now.date())
    for kind, item, provider, region, mode, amount, currency in PRICES:
        estimates.add_price(
            by=keeper,
            kind=kind,
            item=item,
            provider=provider,
            region=region,
            mode=mode,
            amount=amount,
            currency=currency,
            valid_from=(this_month + -6).start,
            source=AGREEMENT,
            verified=True,
            now=now,
        )
    ExchangeRate.objects.bulk_create(
        ExchangeRate(month=(this_month + -back).start, base="CNY", quote="USD", rate=rate, source=AGREEMENT)
        for back, rate in enumerate(map(Decimal, ("0.1402", "0.1398", "0.1395", "0.1391")))
    )


def tell_stories(people: dict[str, User], now: datetime) -> None:
    """Projects with approved proposals and what they spent, one import after another, then what is in flight."""
    told = [(story, *open_story(story, people, now)) for story in STORIES]
    deliver_bills(told, people["operator@example.com"], now)
    staffed = [(project, proposal, story.spent[Category.PEOPLE_PLATFORM]) for story, project, proposal in told]
    book_people(staffed, people["finance@example.com"], now)
    book_invoices(told[0][1], people["finance@example.com"], now)
    show_work(told, people, now)
    demo_cluster.show_cluster(people["operator@example.com"], people["finance@example.com"], now)
    overruns.judge_touched()
    leave_work_in_flight(people, now)


def show_work(told: list[tuple[Story, Project, Proposal]], people: dict[str, User], now: datetime) -> None:
    """What ran and what came of it; and the first month, closed, with a bill that came again afterwards."""
    operator, manager = people["operator@example.com"], people["manager@example.com"]
    _story, base, of_base = told[0]
    demo_work.show_run(base, of_base, people["researcher@example.com"], operator, now)
    demo_work.show_services(operator, now)
    demo_work.show_storage(operator, now)
    [ladder] = [proposal for story, _project, proposal in told if story.name == LADDER]
    demo_work.finish(ladder, manager, now)
    [medicine] = [project for story, project, _proposal in told if story.plan == "template-continued-pretrain"]
    demo_work.offer(ladder, medicine, manager, Month.of(now.date()))
    retrospectives.open_for_overruns(now=now)
    demo_work.close_first_month(Month.of(now.date()) + -2, people["finance@example.com"])
    deliver_again(told, operator, now)


def deliver_again(told: list[tuple[Story, Project, Proposal]], operator: User, now: datetime) -> None:
    """The first provider's bill of the closed month once more, a little dearer than it was."""
    slug, _name, bill = next(bills(told, spent_by(now)))
    month = Month.of(now.date()) + -2
    dearer = replace(bill, burns=tuple(replace(burn, amount=burn.amount * RESTATED) for burn in bill.burns))
    source = Source.objects.get(slug=slug)
    file = io.BytesIO(dearer.of_month(month, now.date()))
    delivery = usage.receive_file(source=source, by=operator, name=f"{slug}-{month}-corrected.csv", stream=file)
    overruns.import_then_judge(delivery.pk)


def open_story(story: Story, people: dict[str, User], now: datetime) -> tuple[Project, Proposal]:
    """A project, and its proposal as it was asked and approved before the first bill."""
    begun = day(now, Month.of(now.date()) + -2)
    with at(begun - timedelta(days=20)) as moment:
        project = teams.open_project(
            by=people["finance@example.com"],
            team=Team.objects.get(slug=story.team),
            name=story.name,
            currency=story.currency,
            task_type=story.task,
            cost_centre=CostCentre.objects.order_by("code").first(),
            starts_on=begun.date(),
            ends_on=(Month.of(now.date()) + 3).start,
        )
        proposal = proposals.create_proposal(
            by=people[story.requester], project=project, plan=plan_of(story, begun), now=moment
        )
    with at(begun - timedelta(days=18)) as moment:
        proposals.submit_proposal(proposal, by=people[story.requester], now=moment)
    steps = ApprovalStep.objects.filter(version__proposal=proposal).order_by("number")
    for wait, step in zip((16, 14, 13, 12), steps, strict=False):
        decider = people[story.manager] if step.role == Role.MANAGER else people[f"{step.role}@example.com"]
        with at(begun - timedelta(days=wait)) as moment:
            approval.approve_proposal(step, by=decider, reason="As discussed.", now=moment)
    with at(begun - timedelta(days=10)) as moment:
        add_reserve(proposal, people["finance@example.com"], moment)
        if story.name == IN_HOURS:
            add_hours(proposal, people["finance@example.com"], moment)
    return project, proposal


def add_reserve(proposal: Proposal, by: User, moment: datetime) -> None:
    """More money than was promised, so that the lines have headroom."""
    for line in BudgetLine.objects.filter(project=proposal.project, category__in=RESERVES):
        granted = line_status(line, now=moment).budget
        amount = round_money(granted * RESERVES[Category(line.category)], line.currency)
        ledger.grant(line, by=by, amount=amount, reason="Reserve for what comes up", now=moment)


def add_hours(proposal: Proposal, by: User, moment: datetime) -> None:
    """A budget of accelerator-hours beside the money: those of the estimate, and the reserve of computing."""
    line = BudgetLine.objects.get(project=proposal.project, category=Category.COMPUTE)
    version = proposal.versions.get(state=ProposalVersion.State.APPROVED)
    estimated = hours_asked(version, HoursEntry.Unit.REAL) or Decimal(0)
    granted = round(estimated * (1 + RESERVES[Category.COMPUTE]), -1)
    hours.grant_hours(
        line, by=by, hours=granted, unit=HoursEntry.Unit.REAL, reason="Hours of the estimate and a reserve", now=moment
    )


def plan_of(story: Story, begun: datetime) -> dict[str, Any]:
    """The template of the story's kind with what makes it this project's."""
    plan = yaml.safe_load((PLANS / f"{story.plan}.yaml").read_text())
    plan["start"] = begun.date().isoformat()
    plan.pop("deadline", None)
    for section, change in story.changes.items():
        plan[section] = {**plan.get(section, {}), **change} if isinstance(change, dict) else change
    return plan


def deliver_bills(told: list[tuple[Story, Project, Proposal]], operator: User, now: datetime) -> None:
    """Rules that place usage by its tag, then each provider's bills, month after month, as they would arrive."""
    today = now.date()
    spent = spent_by(now)
    by_tag = {"field": "tag", "operator": "equals", "tag": "project"}
    for _story, project, _proposal in told:
        of_project = {**by_tag, "values": [project.slug]}
        rules.add_rule(by=operator, name=f"Tagged {project.slug}", conditions=[of_project], project=project)
    rules.add_rule(
        by=operator,
        name="The platform account is shared",
        conditions=[{"field": "account", "operator": "equals", "values": ["acct-platform"]}],
        is_shared=True,
    )
    for slug, name, bill in bills(told, spent):
        source = usage.open_source(by=operator, slug=slug, name=name, format="focus")
        for month in months_of(bill.burns):
            file = io.BytesIO(bill.of_month(month, today))
            delivery = usage.receive_file(source=source, by=operator, name=f"{slug}-{month}.csv", stream=file)
            overruns.import_then_judge(delivery.pk)


def spent_by(now: datetime) -> Period:
    """From the first day of the month before last until today."""
    return Period(day(now, Month.of(now.date()) + -2).date(), now.date())


def bills(told: list[tuple[Story, Project, Proposal]], spent: Period) -> Iterator[tuple[str, str, Bill]]:
    """Who bills what: two clouds."""
    burns = [(story, burn) for story, project, proposal in told for burn in burns_of(story, project, proposal, spent)]

    def billed(currency: str) -> tuple[Burn, ...]:
        return tuple(burn for story, burn in burns if story.currency == currency)

    common = (
        Burn(POWER, "acct-platform", {"purpose": "monitoring"}, Decimal(2900), spent),
        Burn(GPU, "acct-sandbox", {}, Decimal(7400), spent),
    )
    yield "cloud-north", "Cloud North bills", Bill("Cloud North", "north-001", "USD", billed("USD") + common)
    yield "cloud-east", "Cloud East bills", Bill("Cloud East", "east-001", "CNY", billed("CNY"))


def burns_of(story: Story, project: Project, proposal: Proposal, spent: Period) -> Iterator[Burn]:
    """What one project spent of each of its lines."""
    for line in BudgetLine.objects.filter(project=project, category__in=story.spent.keys() & SERVICES).order_by(
        "category"
    ):
        category = Category(line.category)
        yield Burn(
            service=SERVICES[category],
            account=story.account,
            tags={"project": project.slug, "headroom_proposal": proposal.reference},
            amount=line_status(line).budget * story.spent[category],
            period=spent,
            spikes=SPIKES if category == Category.COMPUTE else {},
        )


def leave_work_in_flight(people: dict[str, User], now: datetime) -> None:
    """A proposal that waits for its manager, one that waits for the director, and drafts that follow prices."""
    base = Project.objects.get(slug="base-7b-pretraining")
    assistant = Project.objects.get(slug="support-assistant")
    researcher, searcher = people["researcher@example.com"], people["search-researcher@example.com"]
    start = (Month.of(now.date()) + 1).start
    next_generation = {**yaml.safe_load((PLANS / "template-pretrain.yaml").read_text()), "name": "Base-7B v3"}
    next_generation |= {"start": start.isoformat(), "deadline": (Month.of(start) + 3).start.isoformat()}
    waiting = proposals.create_proposal(by=researcher, project=base, plan=next_generation, title="Base-7B v3", now=now)
    proposals.submit_proposal(waiting, by=researcher, now=now)
    for template, title, project, by in (
        ("template-mixture-of-experts", "Sparse base, first sketch", base, researcher),
        ("template-vector-store", "Product search vectors", assistant, searcher),
        ("template-inference", "Assistant service", assistant, searcher),
    ):
        plan = yaml.safe_load((PLANS / f"{template}.yaml").read_text())
        proposals.create_proposal(by=by, project=project, plan=plan, title=title, now=now)
    estimates.add_price(
        by=people["finance@example.com"],
        kind="accelerator",
        item="h100-sxm-80gb",
        provider="Cloud North",
        region="region-1",
        mode="on_demand",
        amount="2.75",
        currency="USD",
        valid_from=now.date(),
        source=AGREEMENT,
        verified=True,
        now=now,
    )


def day(now: datetime, month: Month) -> datetime:
    """Nine in the morning of a month's first day."""
    return datetime.combine(month.start, time(9), tzinfo=UTC)


@contextmanager
def at(moment: datetime) -> Iterator[datetime]:
    """What is recorded inside happened at `moment`."""
    newest = Activity.objects.order_by("-id").values_list("id", flat=True).first() or 0
    yield moment
    Activity.objects.filter(id__gt=newest).update(at=moment)
