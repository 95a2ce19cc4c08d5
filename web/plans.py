"""The plan form: its parts, the estimate beside it that follows as one types, the YAML view, and why.

`web.proposals` puts it on its pages: `form_context` with `web/plans/_editor.html` for the page, `document_from_post`
for what was posted, `preview` for the address that answers while one types.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from core.errors import Fault
from core.months import Month
from core.vocabulary import TaskType
from estimates import queries
from estimates.engine.explain import UnknownQuantity
from estimates.engine.plan import Plan, PlanRefused, parse_plan
from estimates.models import Accelerator, Estimate, Price, PriceKind
from estimates.wording import fault_in_language
from teams.models import Project
from web import plan_fields, plan_members, plan_reshaping
from web.plan_card import card_of
from web.plan_comparisons import comparisons_of, strip_of
from web.plan_fields import Document
from web.plan_groups import groups_of, is_missing
from web.plan_history import history_of
from web.plan_said import notices_of, said_of, states_of
from web.plan_tree import tree_of
from web.plan_yaml import yaml_of
from web.requests import PersonRequest

YAML_NAME = "plan_yaml"
"""The field that holds the whole plan as text, where a person edits it so."""
TEMPLATES = Path(settings.BASE_DIR) / "docs" / "plans"


@dataclass(frozen=True)
class Outcome:
    """What came of a document: an answer, or what is wrong with it."""

    document: Document
    faults: tuple[Fault, ...] = ()
    plan: Plan | None = None
    answer: Mapping[str, Any] | None = None
    seconds: float = 0.0

    @property
    def missing(self) -> list[Fault]:
        """What is not filled in yet."""
        return [fault for fault in self.faults if is_missing(fault)]

    @property
    def wrong(self) -> list[Fault]:
        return [fault for fault in self.faults if not is_missing(fault)]


def today() -> date:
    """The organisation's day: its time zone is on for the length of a request."""
    return timezone.localdate()


# ---- for the pages that hold the form


def starting_document(project: Project | None, day: date, template: str = "") -> Document:
    """What a new plan starts from: a template's figures, if one is named, with the project's name and currency."""
    document: Document = dict(template_document(template) or {"task": "pretrain"})
    document["start"] = (Month.of(day) + 1).start.isoformat()
    document.pop("deadline", None)
    if project is not None:
        document |= {"name": project.name, "currency": project.currency}
        if not template and project.task_type != TaskType.OTHER:
            document["task"] = str(project.task_type)
    return document


@cache
def template_names() -> tuple[str, ...]:
    """Names of the plans that one can start from."""
    return tuple(sorted(file.stem.removeprefix("template-") for file in TEMPLATES.glob("template-*.yaml")))


TEMPLATE_TITLES = {
    "ablation": gettext_lazy("Ablation: a ladder of experiments"),
    "continued-pretrain": gettext_lazy("Continued pretraining"),
    "data-work": gettext_lazy("Data work"),
    "distillation": gettext_lazy("Distillation from a teacher"),
    "encoder-decoder": gettext_lazy("Encoder-decoder model"),
    "evaluation": gettext_lazy("Evaluation"),
    "finetune-full": gettext_lazy("Fine-tuning, all parameters"),
    "finetune-head": gettext_lazy("Fine-tuning, the head only"),
    "finetune-lora": gettext_lazy("Fine-tuning, LoRA"),
    "inference": gettext_lazy("Inference service"),
    "inference-encoder": gettext_lazy("Inference, encoder"),
    "inference-short": gettext_lazy("Inference at a known cost per request"),
    "life": gettext_lazy("Whole life of a model"),
    "masked-encoder": gettext_lazy("Encoder with masked tokens"),
    "mixed": gettext_lazy("Own accelerators and rented ones"),
    "mixture-of-experts": gettext_lazy("Mixture of experts"),
    "next-generation": gettext_lazy("Next generation of a model"),
    "own-hardware": gettext_lazy("Own hardware"),
    "pretrain": gettext_lazy("Pretraining from scratch"),
    "staged-growth": gettext_lazy("Model that grows in stages"),
    "unlike-accelerators": gettext_lazy("Unlike accelerators side by side"),
    "vector-store": gettext_lazy("Vector store"),
}


def template_choices() -> list[tuple[str, str]]:
    """The plans one can start from, with their titles."""
    return [(name, str(TEMPLATE_TITLES.get(name, name))) for name in template_names()]


def template_document(name: str) -> Mapping[str, Any] | None:
    if name not in template_names():
        return None
    return parse_plan((TEMPLATES / f"template-{name}.yaml").read_bytes()).document


def document_from_post(post: QueryDict) -> Document | str:
    """The posted plan: keys and values from the form, or the text where it was edited as YAML."""
    return str(post[YAML_NAME]) if YAML_NAME in post else plan_members.fitting(filled_in(post))


def filled_in(post: QueryDict) -> Document:
    """What the form says, with what it carries along for another task."""
    return plan_members.renamed(plan_fields.document_of(post), post)


def outcome_of(document: Document | str, *, day: date, project: Project | None = None) -> Outcome:
    """Estimate a document at the prices of a day, by what the project's team has learned. Nothing is kept."""
    started = time.perf_counter()
    try:
        plan = parse_plan(document if isinstance(document, str) else plan_reshaping.estimable(document))
        answer = queries.answer_for(plan, prices_on=day, team=project.team_id if project else None)
    except PlanRefused as refused:
        return refused_outcome(document, refused)
    return Outcome(dict(plan.document), plan=plan, answer=answer, seconds=time.perf_counter() - started)


def refused_outcome(document: Document | str, refused: PlanRefused) -> Outcome:
    """What is wrong with a document, each fault where the form has its field."""
    kept = document if isinstance(document, dict) else {}
    return Outcome(kept, plan_members.with_places(map(fault_in_language, refused.faults), kept))


def form_context(
    document: Document | str,
    *,
    project: Project | None = None,
    headroom: Decimal | None = None,
    preview_url: str = "",
    outcome: Outcome | None = None,
    estimate: Estimate | None = None,
    as_yaml: bool = False,
    shown: Sequence[str] = (),
) -> dict[str, Any]:
    """What `web/plans/_editor.html` needs: the form filled in, and the estimate of it.

    `headroom` is what the project's lines have left, in the plan's currency; `preview_url` is where the form asks for
    the estimate as one types; `estimate` is the draft that is being edited, whose history is shown; `shown` are the
    members of a life plan that stand open. A text that cannot be read is shown as it is.
    """
    found = outcome or outcome_of(document, day=today(), project=project)
    is_text = isinstance(document, str) and found.plan is None
    filled = document if isinstance(document, dict) else found.document
    is_yaml = as_yaml or is_text
    members = [] if is_yaml else plan_members.members_of(filled, found.faults, shown)
    return {
        "plan_yaml": (document if is_text else yaml_of(plan_members.fitting(filled))) if is_yaml else "",
        "is_yaml": is_yaml,
        "groups": [] if is_yaml else groups_of(filled, found.faults),
        "members": members,
        "task": str(filled.get("task") or ""),
        "is_life": filled.get("task") == "life",
        "member_tasks": plan_members.member_tasks(),
        "carried": [] if is_yaml else plan_members.kept_parts(filled),
        "lists": {} if is_yaml else value_lists(),
        "preview_url": preview_url or reverse("plan-preview"),
        "plan_project": project.slug if project else "",
        "estimate": estimate,
        "history": history_of(estimate) if estimate is not None else [],
        **preview_context(found, headroom=headroom, shown=[member.place for member in members if member.groups]),
    }


def preview_context(found: Outcome, *, headroom: Decimal | None = None, shown: Sequence[str] = ()) -> dict[str, Any]:
    """What the parts need that follow as one types."""
    notices = notices_of(found.answer)
    states = states_of(found.document, notices, found.faults, shown)
    card = None
    if found.plan is not None and found.answer is not None:
        card = card_of(found.plan, found.answer, headroom=headroom, seconds=found.seconds)
    return {
        "outcome": found,
        "card": card,
        "strip": strip_of(found.answer) if found.answer else None,
        "said": said_of(found.plan, found.answer, found.faults),
        "states": states,
        "parts": [key for key in states if plan_members.number_of(found.document, key) is None],
        "notices": notices,
        "member_totals": plan_members.member_totals(found.answer, str(found.document.get("currency") or "USD")),
    }


def preview(request: HttpRequest, *, project: Project | None = None, headroom: Decimal | None = None) -> HttpResponse:
    """The estimate, the hints and the faults for the posted form, as parts that htmx puts in their places.

    Nothing where the form was drawn for another task: it is being drawn again, and the estimate comes with it.
    """
    document = document_from_post(request.POST)
    if isinstance(document, dict) and document.get("task") != request.POST.get("drawn_for", document.get("task")):
        return HttpResponse(status=204)
    found = outcome_of(document, day=today(), project=project)
    shown = request.POST.getlist(plan_members.SHOWN)
    context = {"is_yaml": isinstance(document, str), **preview_context(found, headroom=headroom, shown=shown)}
    before = request.POST.get("said", "").split()
    context["replaced"] = plan_reshaping.replaced_words(before, context["said"], found.document, shown)
    if "compared" in request.POST:
        context["comparisons"] = comparisons_of(found.answer) if found.answer else []
    return render(request, "web/plans/_preview.html", context)


def value_lists() -> dict[str, list[tuple[str, str]]]:
    """Values that may be picked: accelerators of the catalogue, providers, regions and roles of the price list."""
    offers = set(Price.objects.values_list("kind", "item", "provider", "region").distinct())
    return {
        "accelerators": list(Accelerator.objects.values_list("slug", "name")),
        "providers": sorted({(provider, "") for _kind, _item, provider, _region in offers if provider}),
        "regions": sorted({(region, "") for _kind, _item, _provider, region in offers if region}),
        "roles": sorted({(item, "") for kind, item, _provider, _region in offers if kind == PriceKind.ROLE}),
    }


# ---- addresses of the form itself


@login_required
@require_POST
def plan_preview(request: HttpRequest) -> HttpResponse:
    """The estimate of a posted plan that belongs to no project."""
    return preview(request)


def posted_project(request: HttpRequest) -> Project | None:
    """The project whose plan is being written, which the form brings along."""
    visible = Project.objects.visible_to(request.user)
    return visible.filter(slug=request.POST.get("plan_project", "")).first()


@login_required
@require_POST
def plan_shape(request: HttpRequest) -> HttpResponse:
    """The form in another shape: a row more or less, a range in three inputs, another task, as YAML."""
    ask, post = request.GET, request.POST
    document: Document | str = str(post[YAML_NAME]) if YAML_NAME in post else filled_in(post)
    shown = plan_members.moved(post.getlist(plan_members.SHOWN), ask)
    if isinstance(document, str):
        document = readable(document) if ask.get("view") == "form" else document
    else:
        document = plan_reshaping.reshaped(as_life(document, post.get("drawn_for", "")), ask)
        if ask.get("member") in plan_members.MEMBER_TASKS:
            shown.append(plan_members.add_member(document, ask["member"]))
    context = form_context(
        document,
        project=posted_project(request),
        preview_url=post.get("preview_url", ""),
        as_yaml=ask.get("view") == "yaml",
        shown=shown,
    )
    return render(request, "web/plans/_reshaped.html", context)


def as_life(document: Document, drawn_for: str) -> Document:
    """A plan of one task that has just become a life keeps what it said, as its first member."""
    became = document.get("task") == "life" and drawn_for not in ("", "life")
    return plan_members.wrapped(document, drawn_for) if became else document


@login_required
@require_POST
def plan_member(request: HttpRequest) -> HttpResponse:
    """One member of a life plan with all its parts."""
    document, place = filled_in(request.POST), request.GET.get("place", "")
    if plan_members.number_of(document, place) is None:
        return HttpResponse(status=404)
    found = outcome_of(document, day=today(), project=posted_project(request))
    context = {
        "member": plan_members.member_of(document, f"{place}.", found.faults, False),
        "lists": value_lists(),
        **preview_context(found, shown=[place]),
    }
    return render(request, "web/plans/_member_parts.html", context)


def readable(text: str) -> Document | str:
    """The document a text holds; the text itself where it cannot be read."""
    try:
        return dict(parse_plan(text).document)
    except PlanRefused:
        return text


@login_required
@require_POST
def plan_compare(request: HttpRequest) -> HttpResponse:
    """What other choices would cost; asked for when somebody wants to see it."""
    found = outcome_of(document_from_post(request.POST), day=today())
    words = {"comparisons": comparisons_of(found.answer) if found.answer else []}
    return render(request, "web/plans/_compare.html", words)


@login_required
@require_POST
def plan_why(request: HttpRequest) -> HttpResponse:
    """Why a quantity is what it is: formulas and figures down to what was typed in."""
    try:
        plan = parse_plan(document_from_post(request.POST))
        quantity, project = request.GET.get("quantity", "total_cost"), posted_project(request)
        team = project.team_id if project else None
        tree = queries.explanation_of(plan, quantity, prices_on=today(), team=team)
    except (PlanRefused, UnknownQuantity):
        return render(request, "web/plans/_why.html", {"node": None})
    return render(request, "web/plans/_why.html", {"node": tree_of(tree, plan.currency)})


@login_required
def plan_history(request: PersonRequest, pk: int) -> HttpResponse:
    """What changed in an estimate; a page asks for it until a draft that waits has been computed again."""
    found = get_object_or_404(Estimate.objects.visible_to(request.user).defer("plan", "priced", "lasting"), pk=pk)
    return render(request, "web/plans/_history.html", {"estimate": found, "history": history_of(found)})


urlpatterns = [
    path("plans/compare/", plan_compare, name="plan-compare"),
    path("plans/history/<int:pk>/", plan_history, name="plan-history"),
    path("plans/member/", plan_member, name="plan-member"),
    path("plans/preview/", plan_preview, name="plan-preview"),
    path("plans/shape/", plan_shape, name="plan-shape"),
    path("plans/why/", plan_why, name="plan-why"),
]
