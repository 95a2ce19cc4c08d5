"""Assets: finished models and data sets, who uses them, and what of their cost each month charged to whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from budgets.assets import Standing, months_due, offer_of, standings
from budgets.models import Asset, AssetCharge, AssetUse, Entry, Proposal
from budgets.services import assets as services
from core.errors import DomainError
from core.keys import row_key
from core.months import Month
from teams import permissions
from teams.models import Organisation, Project, User
from web.forms import MoneyField, refuse
from web.recurring import MonthField
from web.requests import PersonRequest

ON_A_PAGE = 25


class AssetForm(forms.Form):
    """A finished model or data set, as people know it."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    project = forms.ModelChoiceField(
        Project.objects.none(), label=gettext_lazy("Made by the project"), empty_label=None
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=Asset.Kind.choices,
        help_text=gettext_lazy("A model is charged on compute lines, a data set on data lines."),
    )
    cost = MoneyField(label=gettext_lazy("Cost"), min_value=0)
    starts_on = MonthField(label=gettext_lazy("First month of use"))
    life = forms.IntegerField(label=gettext_lazy("Life"), min_value=1, max_value=1000)
    life_in = forms.ChoiceField(label=gettext_lazy("Counted in"), choices=Asset.Life.choices)
    owner = forms.ModelChoiceField(User.objects.none(), label=gettext_lazy("Owner"), empty_label=None)
    licence = forms.ChoiceField(label=gettext_lazy("Licence"), choices=Asset.Licence.choices)
    compliance = forms.ChoiceField(label=pgettext_lazy("of an asset", "Compliance"), choices=Asset.Compliance.choices)
    is_offered = forms.BooleanField(label=gettext_lazy("Every team sees it and may use it"), required=False)
    note = forms.CharField(label=gettext_lazy("Note"), widget=forms.Textarea(attrs={"rows": 2}), required=False)

    def __init__(self, *arguments: Any, projects: QuerySet[Project], by: User, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]
        teams = projects.values("team")
        people = User.objects.filter(memberships__team__in=teams, is_active=True) | User.objects.filter(pk=by.pk)
        self.fields["owner"].queryset = people.distinct().order_by("name", "pk")  # type: ignore[attr-defined]


class UseForm(forms.Form):
    """Which project uses the asset, and from when on."""

    project = forms.ModelChoiceField(Project.objects.none(), label=gettext_lazy("Project"), empty_label=None)
    since = MonthField(label=gettext_lazy("First month"))
    until = MonthField(label=gettext_lazy("No longer from"), required=False)
    tasks = forms.IntegerField(label=gettext_lazy("Tasks, or its weight"), min_value=1, max_value=1000, initial=1)
    proposal = forms.ModelChoiceField(
        Proposal.objects.none(),
        label=gettext_lazy("For the proposal"),
        required=False,
        empty_label=gettext_lazy("the project as a whole"),
    )

    def __init__(self, *arguments: Any, projects: QuerySet[Project], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]
        self.fields["proposal"].queryset = Proposal.objects.filter(project__in=projects, closed_at=None)  # type: ignore[attr-defined]


class ClearanceForm(forms.Form):
    licence = forms.ChoiceField(label=gettext_lazy("Licence"), choices=Asset.Licence.choices)
    compliance = forms.ChoiceField(label=pgettext_lazy("of an asset", "Compliance"), choices=Asset.Compliance.choices)
    reason = forms.CharField(label=gettext_lazy("How it is known"), max_length=300)


def projects_to_keep_for(user: User) -> QuerySet[Project]:
    """Projects whose assets, and uses of assets, this person keeps."""
    return permissions.projects_to_book_on(user).filter(state=Project.State.ACTIVE)


def visible_asset(request: PersonRequest, pk: int) -> Asset:
    found = Asset.objects.visible_to(request.user).select_related("project__team", "owner", "proposal", "created_by")
    return get_object_or_404(found, pk=pk)


@login_required
def asset_list(request: PersonRequest) -> HttpResponse:
    """What was finished and is used again, with what is left of its cost."""
    found = Asset.objects.visible_to(request.user).select_related("project", "owner")
    if request.GET.get("kind") in Asset.Kind.values:
        found = found.filter(kind=request.GET["kind"])
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    stands = standings(page.object_list)
    words = {
        "page": page,
        "rows": [{"asset": asset, "standing": stands[asset.pk]} for asset in page.object_list],
        "may_add": projects_to_keep_for(request.user).exists(),
        "kinds": Asset.Kind.choices,
        "kind": request.GET.get("kind", ""),
        "own": set(Project.objects.visible_to(request.user).values_list("pk", flat=True)),
    }
    return render(request, "web/assets/list.html", words)


@login_required
def asset_new(request: PersonRequest) -> HttpResponse:
    """Write down an asset; `?proposal=` fills in what became of a closed proposal."""
    projects = projects_to_keep_for(request.user)
    if not projects.exists():
        messages.error(request, _("Assets are kept by managers of the team and finance."))
        return redirect("asset-list")
    proposal = proposal_of(request, projects)
    form = AssetForm(
        request.POST or None, projects=projects, by=request.user, initial=first_values(proposal, request.user)
    )
    if request.method == "POST" and form.is_valid():
        said = dict(form.cleaned_data)
        project = said.pop("project")
        own = proposal if proposal and proposal.project_id == project.pk else None
        try:
            asset = services.add_asset(project, services.NewAsset(**said, proposal=own), by=request.user)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("It is an asset. Say which projects use it."))
            return redirect("asset", asset.pk)
    words = {"form": form, "proposal": proposal}
    return render(request, "web/assets/new.html", words, status=422 if form.errors else 200)


def proposal_of(request: PersonRequest, projects: QuerySet[Project]) -> Proposal | None:
    """The proposal whose result is made an asset; one that is not there, or not one's own, is a 404."""
    number = request.GET.get("proposal", "")
    if not number:
        return None
    found = Proposal.objects.visible_to(request.user).filter(project__in=projects).select_related("project")
    return get_object_or_404(found, pk=row_key(number))


def first_values(proposal: Proposal | None, by: User) -> dict[str, Any]:
    month = Month.of(Organisation.current().today(timezone.now()))
    start: dict[str, Any] = {"starts_on": str(month), "owner": by.pk, "life": 12, "life_in": "months"}
    if proposal is None:
        return start
    offer = offer_of(proposal)
    start |= {"name": proposal.title, "project": proposal.project_id, "owner": proposal.requester_id}
    start |= {"kind": offer.kind, "cost": f"{offer.cost:f}" if offer.cost else ""}
    return start | ({"life": offer.tasks, "life_in": "tasks"} if offer.tasks > 1 else {})


@login_required
def asset(request: PersonRequest, pk: int) -> HttpResponse:
    return asset_page(request, visible_asset(request, pk))


def asset_page(request: PersonRequest, found: Asset, **bound: forms.Form) -> HttpResponse:
    """One asset; a form that was refused comes back with what is wrong."""
    user = request.user
    projects = projects_to_keep_for(user).filter(currency=found.currency)
    standing = standings([found])[found.pk]
    charges = found.charges.select_related("by", "reversal").order_by("-at", "-id")
    page = Paginator(charges, ON_A_PAGE).get_page(request.GET.get("page"))
    own = set(Project.objects.visible_to(user).values_list("pk", flat=True))
    keepable = set(projects_to_keep_for(user).values_list("pk", flat=True))
    uses = list(found.uses.select_related("project", "proposal").order_by("-since", "-id"))
    month = str(Month.of(Organisation.current().today(timezone.now())))
    words = {
        "asset": found,
        "standing": standing,
        "share": standing.written_off / found.cost,
        "sees_project": found.project_id in own,
        "uses": [{"use": use, "may_end": use.project_id in keepable} for use in uses if use.project_id in own],
        "others": sum(use.project_id not in own for use in uses),
        "page": page,
        "charges": charge_rows(list(page.object_list), own),
        "waits": waiting_charge(found, standing),
        "may_keep": permissions.may_transfer(user, found.project.team),
        "may_use": projects.exists(),
        "use_form": bound.get("use") or UseForm(projects=projects, initial={"since": month}),
        "clearance": bound.get("clearance")
        or ClearanceForm(initial={"licence": found.licence, "compliance": found.compliance}),
        "this_month": month,
        "refused": next(iter(bound), ""),
    }
    return render(request, "web/assets/asset.html", words, status=422 if bound else 200)


def charge_rows(charges: Sequence[AssetCharge], own: set[int]) -> list[dict[str, Any]]:
    """Each charge with who carried it, as far as this person sees the project."""
    numbers = [charge.transfer for charge in charges if charge.transfer]
    entries: dict[Any, list[Entry]] = {}
    for entry in Entry.objects.filter(transfer__in=numbers).select_related("line__project").order_by("amount", "id"):
        if entry.line.project_id in own:
            entries.setdefault(entry.transfer, []).append(entry)
    return [{"charge": charge, "entries": entries.get(charge.transfer, [])} for charge in charges]


def waiting_charge(found: Asset, standing: Standing) -> dict[str, Any] | None:
    """The oldest month that could not be charged for want of a line."""
    if not found.uses.exists():
        return None
    for month in months_due(found, standing, Month.of(Organisation.current().today(timezone.now()))):
        planned = services.planned_charge(found, month)
        if planned is not None:
            return {"month": month.start, "projects": planned.missing, "amount": planned.amount}
    return None


# ---- what the forms do


@login_required
@require_POST
def asset_use(request: PersonRequest, pk: int) -> HttpResponse:
    found = visible_asset(request, pk)
    form = UseForm(request.POST, projects=projects_to_keep_for(request.user))
    if form.is_valid():
        asked = dict(form.cleaned_data)
        try:
            services.use_asset(found, asked.pop("project"), by=request.user, **asked)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("The project uses it; the months that are over are charged within the hour."))
            if not found.is_cleared:
                messages.warning(
                    request, _("Its licence or compliance is not known. Approvers of the project see that.")
                )
            return redirect("asset", pk)
    return asset_page(request, found, use=form)


@login_required
@require_POST
def asset_clearance(request: PersonRequest, pk: int) -> HttpResponse:
    found = visible_asset(request, pk)
    form = ClearanceForm(request.POST)
    if form.is_valid():
        try:
            services.set_clearance(found, by=request.user, **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("That is what is known of it now."))
            return redirect("asset", pk)
    return asset_page(request, found, clearance=form)


@login_required
@require_POST
def asset_use_end(request: PersonRequest, pk: int, use_id: int) -> HttpResponse:
    found = visible_asset(request, pk)
    seen = AssetUse.objects.filter(asset=found, project__in=Project.objects.visible_to(request.user))
    use = get_object_or_404(seen.select_related("asset"), pk=use_id)
    try:
        services.end_use(use, by=request.user, until=Month.parse(request.POST.get("until", "")))
    except ValueError:
        messages.error(request, _("Write a month such as 2027-01."))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("It is not used from that month on."))
    return redirect("asset", pk)


@login_required
@require_POST
def asset_reverse(request: PersonRequest, pk: int, charge_id: int) -> HttpResponse:
    found = visible_asset(request, pk)
    charge = get_object_or_404(found.charges.select_related("asset"), pk=charge_id)
    try:
        services.reverse_charge(charge, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("The month is taken back; later months carry what is left."))
    return redirect("asset", pk)


urlpatterns = [
    path("assets/", asset_list, name="asset-list"),
    path("assets/new/", asset_new, name="asset-new"),
    path("assets/<int:pk>/", asset, name="asset"),
    path("assets/<int:pk>/use/", asset_use, name="asset-use"),
    path("assets/<int:pk>/clearance/", asset_clearance, name="asset-clearance"),
    path("assets/<int:pk>/uses/<int:use_id>/end/", asset_use_end, name="asset-use-end"),
    path("assets/<int:pk>/charges/<int:charge_id>/reverse/", asset_reverse, name="asset-reverse"),
]
