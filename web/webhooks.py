"""Where warnings go outside: webhooks, messages that were given up, projects that are kept quiet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.keys import row_key
from teams import outbox, permissions
from teams.delivery import services
from teams.models import Organisation, OutboxMessage, Project, QuietProject, Team, User, Webhook
from web.forms import refuse
from web.requests import PersonRequest

PAGE_LENGTH = 25


class WebhookForm(forms.Form):
    """A webhook to add."""

    name = forms.CharField(
        label=gettext_lazy("What is it for?"), max_length=80, help_text=gettext_lazy("Such as: chat of the team")
    )
    team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("Warnings of"), required=False)
    form = forms.ChoiceField(label=gettext_lazy("Who listens there?"), choices=Webhook.Form.choices)
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=2000,
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Stored encrypted; pages show its host alone."),
    )
    secret = forms.CharField(
        label=gettext_lazy("Signing secret of Feishu"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("Where its robot asks for one. For JSON a secret is made here."),
    )
    language = forms.ChoiceField(label=gettext_lazy("Language"), choices=settings.LANGUAGES)

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data)
        field: Any = self.fields["team"]
        field.queryset = teams_of(user)
        field.required = not permissions.may_keep_webhooks(user, None)
        field.empty_label = None if field.required else _("all teams")

    def clean_secret(self) -> str:
        return self.cleaned_data["secret"] if self.data.get("form") == Webhook.Form.FEISHU else ""


class QuietForm(forms.Form):
    project = forms.ModelChoiceField(Project.objects.none(), label=gettext_lazy("Project"), to_field_name="slug")
    until = forms.DateField(label=gettext_lazy("Keep quiet until"), widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data)
        self.fields["project"].queryset = Project.objects.active().filter(team__in=teams_of(user))  # type: ignore[attr-defined]


def teams_of(user: User) -> Any:
    """The teams whose webhooks the person keeps."""
    if permissions.may_keep_webhooks(user, None):
        return Team.objects.all()
    return Team.objects.filter(memberships__user=user, memberships__role__in=["manager", "finance"]).distinct()


def check_may_enter(user: User) -> None:
    """The page is for managers, finance and operators; for others it does not exist."""
    if not permissions.may_enter_webhooks(user):
        raise Http404


def delivery_page(request: PersonRequest, **shown: Any) -> HttpResponse:
    check_may_enter(request.user)
    user = request.user
    given_up = OutboxMessage.objects.kept_by(user).given_up().select_related("person", "webhook", "project")
    keeps = teams_of(user).exists() or permissions.may_keep_webhooks(user, None)
    today = Organisation.current().today(timezone.now())
    quiet = QuietProject.objects.filter(project__team__in=teams_of(user), until__gt=today)
    words = {
        "webhooks": Webhook.objects.kept_by(user).select_related("team", "created_by").order_by("disabled_at", "name"),
        "form": WebhookForm(user=user) if keeps else None,
        "quiet_form": QuietForm(user=user) if keeps else None,
        "quiet": quiet.select_related("project__team", "by").order_by("until"),
        "page": Paginator(given_up.order_by("-id"), PAGE_LENGTH).get_page(request.GET.get("page")),
        **shown,
    }
    refused = any(isinstance(form, forms.Form) and form.is_bound for form in shown.values())
    return render(request, "web/webhooks/list.html", words, status=422 if refused else 200)


@login_required
def webhook_list(request: PersonRequest) -> HttpResponse:
    return delivery_page(request)


@login_required
@require_POST
def webhook_add(request: PersonRequest) -> HttpResponse:
    """The secret is on this one answer and never again."""
    check_may_enter(request.user)
    form = WebhookForm(request.POST, user=request.user)
    if not form.is_valid():
        return delivery_page(request, form=form)
    try:
        webhook, secret = services.add_webhook(by=request.user, **form.cleaned_data)
    except DomainError as refused:
        refuse(form, refused)
        return delivery_page(request, form=form)
    if not secret:
        messages.success(request, _("Added. Try it, so that you know that it arrives."))
        return redirect("webhook-list")
    response = delivery_page(request, added=webhook, secret=secret)
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_POST
def webhook_try(request: PersonRequest, webhook_id: int) -> HttpResponse:
    """Send a message now, and say how it went."""
    webhook = get_object_or_404(Webhook.objects.kept_by(request.user), pk=webhook_id)
    try:
        message = services.try_webhook(webhook, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
        return redirect("webhook-list")
    if outbox.deliver(message, timezone.now() + timedelta(seconds=1)):
        messages.success(request, _("%(name)s took the message.") % {"name": webhook})
    else:
        message.refresh_from_db()
        messages.error(request, _("%(name)s did not take it: %(why)s") % {"name": webhook, "why": message.error})
    return redirect("webhook-list")


@login_required
@require_POST
def webhook_switch(request: PersonRequest, webhook_id: int) -> HttpResponse:
    """Disable the webhook, or enable it again."""
    webhook = get_object_or_404(Webhook.objects.kept_by(request.user), pk=webhook_id)
    try:
        if webhook.disabled_at:
            services.enable_webhook(webhook, by=request.user)
        else:
            services.disable_webhook(webhook, by=request.user, now=timezone.now())
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("webhook-list")


@login_required
@require_POST
def message_again(request: PersonRequest) -> HttpResponse:
    """Send one message again that was given up, or all that the person answers for."""
    check_may_enter(request.user)
    found = OutboxMessage.objects.kept_by(request.user).given_up()
    found = found.filter(Q(webhook__isnull=True) | Q(webhook__disabled_at__isnull=True))
    if "message" in request.POST:
        found = found.filter(pk=row_key(request.POST["message"]) or 0)
    try:
        count = services.send_again(list(found), by=request.user, now=timezone.now())
        messages.success(request, _("Messages that are sent again: %(count)s") % {"count": count})
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("webhook-list")


@login_required
@require_POST
def project_quiet(request: PersonRequest) -> HttpResponse:
    check_may_enter(request.user)
    form = QuietForm(request.POST, user=request.user)
    if not form.is_valid():
        return delivery_page(request, quiet_form=form)
    try:
        services.keep_quiet(by=request.user, now=timezone.now(), **form.cleaned_data)
    except DomainError as refused:
        refuse(form, refused)
        return delivery_page(request, quiet_form=form)
    messages.success(request, _("Its warnings stay in the product until then. That a limit is reached goes out."))
    return redirect("webhook-list")


@login_required
@require_POST
def project_heard(request: PersonRequest, slug: str) -> HttpResponse:
    project = get_object_or_404(Project, slug=slug, team__in=teams_of(request.user))
    services.end_quiet(project, by=request.user)
    return redirect("webhook-list")


urlpatterns = [
    path("webhooks/", webhook_list, name="webhook-list"),
    path("webhooks/new/", webhook_add, name="webhook-add"),
    path("webhooks/<int:webhook_id>/try/", webhook_try, name="webhook-try"),
    path("webhooks/<int:webhook_id>/switch/", webhook_switch, name="webhook-switch"),
    path("webhooks/messages/again/", message_again, name="message-again"),
    path("webhooks/quiet/", project_quiet, name="project-quiet"),
    path("webhooks/quiet/<slug:slug>/end/", project_heard, name="project-heard"),
]
