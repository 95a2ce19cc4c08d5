"""Rejected rows mended: in a form, or in the list that was downloaded; delivered again as a correction."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.translation import gettext as _

from core.errors import DomainError
from overruns import tasks
from teams import permissions
from usage import corrections
from usage.models import Import, RejectedRow
from web.requests import PersonRequest

MOST_BYTES = 50_000_000


@login_required
def import_correct(request: PersonRequest, import_id: int) -> HttpResponse:
    """Mend rejected rows and deliver them again."""
    original = get_object_or_404(Import.objects.visible_to(request.user).select_related("source"), pk=import_id)
    if not permissions.may_import_usage(request.user):
        raise PermissionDenied
    words: dict[str, Any] = {"delivery": original, "given": {}}
    if request.method == "POST":
        try:
            words["given"] = mended(request)
            delivery = corrections.correct_import(original, words["given"], by=request.user)
        except DomainError as refused:
            words["refused"] = refused
        else:
            tasks.import_soon(delivery.pk)
            return redirect("import", delivery.pk)
    rows = list(RejectedRow.objects.filter(delivery=original)[: corrections.MOST_IN_A_FORM])
    words["rows"] = [(row, words["given"].get(row.line, row.text)) for row in rows]
    words["count"] = RejectedRow.objects.filter(delivery=original).count()
    return render(request, "web/usage/import_correct.html", words, status=422 if "refused" in words else 200)


def mended(request: PersonRequest) -> dict[int, str]:
    """Records by line: of the list that was sent, else of the form."""
    file = request.FILES.get("file")
    if file is None:
        pairs = ((name.removeprefix("row-"), text) for name, text in request.POST.items() if name.startswith("row-"))
        return {int(line): str(text) for line, text in pairs if line.isascii() and line.isdigit()}
    if (file.size or 0) > MOST_BYTES:
        raise DomainError(_("The list is too big."))
    try:
        return corrections.mended_rows(file.read().decode())
    except UnicodeDecodeError:
        raise DomainError(_("The list is not UTF-8.")) from None


urlpatterns = [path("usage/imports/<int:import_id>/correct/", import_correct, name="import-correct")]
