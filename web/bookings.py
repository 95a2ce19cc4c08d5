"""Bookings: what no meter sees, by form and by file with a preview; the list, one booking, its reversal."""

from __future__ import annotations

import hashlib
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.months import Month
from core.vocabulary import CAUSES
from overruns import tasks
from teams import labels, permissions
from teams.models import CURRENCY_CHOICES, Project, User
from usage.bookings import files, services
from usage.models import Booking, MonthDraft
from usage.models.bookings import BookingQuerySet
from web import recurring
from web.forms import refuse
from web.requests import PersonRequest

ON_A_PAGE = 25
SHOWN_LINES = 200
"""How many lines of a file the preview shows; all of them count."""
KEPT_FOR = 3600
"""Seconds for which a file that was previewed waits to be confirmed."""
CATEGORIES = [(str(cause), labels.CATEGORIES[cause]) for cause in CAUSES]
TASK_TYPES = labels.choices(labels.TASK_TYPES)
ANY = [("", gettext_lazy("any"))]
STATES = [
    *ANY,
    ("standing", pgettext_lazy("of a booking", "counts")),
    ("reversed", gettext_lazy("reversed, and reversals")),
]


def day_input() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"})


class BookingFilter(forms.Form):
    """What to look for among bookings."""

    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=gettext_lazy("Project"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("all projects"),
    )
    category = forms.ChoiceField(label=gettext_lazy("Category"), required=False, choices=[*ANY, *CATEGORIES])
    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False, choices=STATES)
    search = forms.CharField(label=gettext_lazy("Document or note"), required=False, max_length=100)

    def __init__(self, data: Any, *, user: User) -> None:
        super().__init__(data)
        self.fields["project"].queryset = Project.objects.visible_to(user)  # type: ignore[attr-defined]

    def clean_month(self) -> Month | None:
        text = self.cleaned_data["month"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error


class BookingForm(forms.Form):
    """One line, by the names of the columns of a file; the service reads and checks the texts."""

    project = forms.ChoiceField(label=gettext_lazy("Project"))
    category = forms.ChoiceField(label=gettext_lazy("Category"), choices=CATEGORIES)
    first_day = forms.CharField(label=gettext_lazy("Day of service, or first day"), widget=day_input())
    last_day = forms.CharField(
        label=gettext_lazy("Last day"),
        required=False,
        widget=day_input(),
        help_text=gettext_lazy("The cost is spread over the days; what is billed stays on the first."),
    )
    amount = forms.CharField(label=gettext_lazy("Amount"), widget=forms.TextInput(attrs={"inputmode": "decimal"}))
    currency = forms.ChoiceField(label=gettext_lazy("Currency"), choices=CURRENCY_CHOICES)
    document = forms.CharField(label=gettext_lazy("Number of the document"), required=False)
    key = forms.CharField(label=gettext_lazy("Line of the document"), required=False)
    link = forms.CharField(
        label=gettext_lazy("Link to the document"), required=False, widget=forms.TextInput(attrs={"inputmode": "url"})
    )
    task_type = forms.ChoiceField(
        label=gettext_lazy("Task type"),
        required=False,
        choices=[("", gettext_lazy("the project's own")), *TASK_TYPES],
    )
    stage = forms.CharField(label=gettext_lazy("Stage"), required=False)
    proposal = forms.CharField(
        label=gettext_lazy("Proposal"), required=False, widget=forms.TextInput(attrs={"placeholder": "P-12"})
    )
    note = forms.CharField(label=gettext_lazy("Note"), required=False, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, *args: Any, projects: dict[str, Project], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"].choices = [(slug, project.name) for slug, project in projects.items()]  # type: ignore[attr-defined]


class BookingFileForm(forms.Form):
    """A file of lines."""

    file = forms.FileField(label=gettext_lazy("File of lines, CSV"), allow_empty_file=True)


def may_book_somewhere(user: User) -> bool:
    return permissions.projects_to_book_on(user).exists()


def chosen_bookings(request: PersonRequest, form: BookingFilter) -> BookingQuerySet:
    """What the filter leaves of what this person may see."""
    asked = form.cleaned_data if form.is_valid() else {}
    found = Booking.objects.visible_to(request.user)
    for name in ("project", "category"):
        if asked.get(name):
            found = found.filter(**{name: asked[name]})
    if asked.get("month"):
        found = found.of_month(asked["month"])
    if asked.get("state") == "standing":
        found = found.standing()
    if asked.get("state") == "reversed":
        found = found.exclude(pk__in=found.standing().values("pk"))
    for word in (asked.get("search") or "").split():
        found = found.filter(Q(document__icontains=word) | Q(note__icontains=word) | Q(item__icontains=word))
    return found


@login_required
def booking_list(request: PersonRequest) -> HttpResponse:
    """Bookings, the newest first, with the sum of what is shown by currency."""
    form = BookingFilter(request.GET, user=request.user)
    found = chosen_bookings(request, form)
    rows = found.select_related("project", "booked_by", "reverses", "reversal")
    words = {
        "form": form,
        "page": Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page")),
        "totals": found.totals(),
        "filtered": any(form.cleaned_data.values()),
        "books": may_book_somewhere(request.user),
        "waiting": MonthDraft.objects.visible_to(request.user).due(timezone.localdate()).count(),
        "query": request.GET.urlencode(),
    }
    return render(request, "web/bookings/booking_list.html", words)


@login_required
def booking_export(request: PersonRequest) -> StreamingHttpResponse:
    """What the list shows, as CSV."""
    rows = chosen_bookings(request, BookingFilter(request.GET, user=request.user))
    fetched = rows.select_related("project", "booked_by", "reversal").iterator(2000)
    answer = StreamingHttpResponse(files.csv_text(fetched), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="bookings-{timezone.localdate()}.csv"'
    return answer


@login_required
def booking(request: PersonRequest, pk: int) -> HttpResponse:
    """One booking: what it says, where it came from, what took it back."""
    row = visible_booking(request, pk)
    reversible = not row.reverses_id and not row.is_reversed
    words = {
        "booking": row,
        "may_reverse": reversible and permissions.may_book(request.user, row.project.team),
        "sees_imports": permissions.may_see_all_usage(request.user),
    }
    return render(request, "web/bookings/booking.html", words)


def visible_booking(request: PersonRequest, pk: int) -> Booking:
    rows = Booking.objects.visible_to(request.user).select_related(
        "project__team", "booked_by", "delivery", "reverses", "reversal__booked_by"
    )
    return get_object_or_404(rows, pk=pk)


@login_required
@require_POST
def booking_reverse(request: PersonRequest, pk: int) -> HttpResponse:
    row = visible_booking(request, pk)
    try:
        reversal = services.reverse_booking(row, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        tasks.judge_soon()
        messages.success(request, _("Reversed by %(number)s.") % {"number": reversal})
    return redirect("booking", pk)


# ---- booking


@login_required
def booking_new(request: PersonRequest) -> HttpResponse:
    """Book one line."""
    projects = bookable_projects(request)
    chosen = projects.get(request.GET.get("project", "")) or next(iter(projects.values()))
    first = {"project": chosen.slug, "currency": chosen.currency, "category": "people_platform"}
    form = BookingForm(request.POST or None, projects=projects, initial=first)
    if request.method == "POST" and form.is_valid():
        try:
            row = services.book_line(form.cleaned_data, by=request.user)
        except DomainError as refused:
            refuse(form, refused)
        else:
            tasks.judge_soon()
            messages.success(request, _("Booked as %(number)s.") % {"number": row})
            return redirect("booking", row.pk)
    return render(request, "web/bookings/booking_new.html", {"form": form}, status=422 if form.errors else 200)


def bookable_projects(request: PersonRequest) -> dict[str, Project]:
    projects = services.projects_to_book_on(request.user)
    if not projects:
        raise PermissionDenied
    return projects


@login_required
def booking_file(request: PersonRequest) -> HttpResponse:
    """Upload a file of lines, see what it would book, confirm."""
    bookable_projects(request)
    if request.method == "POST" and "token" in request.POST:
        return confirmed(request, request.POST["token"])
    form = BookingFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        return previewed(request, file.read(files.MOST_BYTES + 1), file.name)
    return render(request, "web/bookings/booking_file.html", {"form": form, "columns": files.COLUMNS})


def previewed(request: PersonRequest, content: bytes, name: str) -> HttpResponse:
    """What the file would book. It is kept for an hour, so that confirming needs no second upload."""
    preview = services.preview_file(content, by=request.user, now=timezone.now())
    token = hashlib.sha256(content).hexdigest()
    if not preview.faults:
        cache.set(cache_key(request, token), (content, name), KEPT_FOR)
    words = {
        "preview": preview,
        "lines": preview.lines[:SHOWN_LINES],
        "faults": preview.faults[:SHOWN_LINES],
        "rest": max(len(preview.lines) - SHOWN_LINES, 0),
        "totals": sorted(preview.totals().items()),
        "restates": any(line.is_restatement for line in preview.new),
        "token": token,
        "name": name,
    }
    return render(request, "web/bookings/booking_preview.html", words, status=422 if preview.faults else 200)


def confirmed(request: PersonRequest, token: str) -> HttpResponse:
    """Book the lines of the file that was previewed."""
    kept = cache.get(cache_key(request, token))
    if kept is None:
        messages.warning(request, _("The file is no longer here. Upload it again."))
        return redirect("booking-file")
    content, name = kept
    try:
        booked = services.book_file(content, by=request.user, name=name)
    except DomainError as refused:
        messages.error(request, refused.message)
        return previewed(request, content, name)
    cache.delete(cache_key(request, token))
    tasks.judge_soon()
    count = len(booked)
    messages.success(request, ngettext("%(count)s line booked.", "%(count)s lines booked.", count) % {"count": count})
    return redirect("booking-list")


def cache_key(request: PersonRequest, token: str) -> str:
    return f"booking-file:{request.user.pk}:{hashlib.sha256(token.encode()).hexdigest()}"


@login_required
def booking_template(request: PersonRequest) -> HttpResponse:
    """A file to fill in, with lines of a project one may book on."""
    slug = next(iter(bookable_projects(request)))
    answer = HttpResponse(files.TEMPLATE % {"project": slug}, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="bookings-template.csv"'
    return answer


urlpatterns = [
    path("usage/bookings/", booking_list, name="booking-list"),
    path("usage/bookings/new/", booking_new, name="booking-new"),
    path("usage/bookings/file/", booking_file, name="booking-file"),
    path("usage/bookings/template.csv", booking_template, name="booking-template"),
    path("usage/bookings/export.csv", booking_export, name="booking-export"),
    path("usage/bookings/<int:pk>/", booking, name="booking"),
    path("usage/bookings/<int:pk>/reverse/", booking_reverse, name="booking-reverse"),
    *recurring.urlpatterns,
]
