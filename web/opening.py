"""Lines, money and spend to date from a file, with a preview before anything is written."""

from __future__ import annotations

import hashlib

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from budgets.opening import COLUMNS, MOST_BYTES, REQUIRED, TEMPLATE
from budgets.services import opening as services
from core.errors import DomainError
from overruns import tasks
from web.requests import PersonRequest

KEPT_FOR = 3600
SHOWN = 200


class OpeningForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("CSV file"))


def check_may_open(request: PersonRequest) -> None:
    """For managers of a team and finance; for others there is no such page."""
    if not services.projects_to_open(request.user):
        raise Http404


@login_required
def lines_file(request: PersonRequest) -> HttpResponse:
    """Upload a file, see what it would write, confirm."""
    check_may_open(request)
    if request.method == "POST" and "token" in request.POST:
        return confirmed(request, request.POST["token"])
    form = OpeningForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        return previewed(request, file.read(MOST_BYTES + 1), file.name)
    words = {"form": form, "columns": COLUMNS, "required": REQUIRED}
    return render(request, "web/projects/lines_file.html", words, status=422 if form.errors else 200)


def previewed(request: PersonRequest, content: bytes, name: str) -> HttpResponse:
    """What the file would write. It is kept for an hour, so that confirming needs no second upload."""
    file = services.preview_opening(content, by=request.user, now=timezone.now())
    token = hashlib.sha256(content).hexdigest()
    if not file.faults:
        cache.set(cache_key(request, token), (content, name), KEPT_FOR)
    words = {
        "file": file,
        "rows": file.rows[:SHOWN],
        "faults": file.faults[:SHOWN],
        "rest": max(len(file.rows) - SHOWN, 0),
        "totals": [(currency, *sums) for currency, sums in sorted(file.totals().items())],
        "token": token,
        "name": name,
    }
    return render(request, "web/projects/lines_preview.html", words, status=422 if file.faults else 200)


def confirmed(request: PersonRequest, token: str) -> HttpResponse:
    """Write what was previewed."""
    kept = cache.get(cache_key(request, token))
    if kept is None:
        messages.warning(request, _("The file is no longer here. Upload it again."))
        return redirect("lines-file")
    content, name = kept
    try:
        lines = services.import_opening(content, by=request.user, name=name)
    except DomainError as refused:
        messages.error(request, refused.message)
        return previewed(request, content, name)
    cache.delete(cache_key(request, token))
    tasks.judge_soon()
    count = len(lines)
    messages.success(
        request, ngettext("%(count)s line is open.", "%(count)s lines are open.", count) % {"count": count}
    )
    return redirect("project-list")


def cache_key(request: PersonRequest, token: str) -> str:
    return f"lines-file:{request.user.pk}:{hashlib.sha256(token.encode()).hexdigest()}"


@login_required
def lines_template(request: PersonRequest) -> HttpResponse:
    """The columns with three rows as an example."""
    check_may_open(request)
    project = next(iter(services.projects_to_open(request.user)))
    headers = {"Content-Disposition": 'attachment; filename="lines.csv"'}
    return HttpResponse(TEMPLATE % {"project": project}, content_type="text/csv; charset=utf-8", headers=headers)


urlpatterns = [
    path("lines-file/", lines_file, name="lines-file"),
    path("lines-file/template.csv", lines_template, name="lines-file-template"),
]
