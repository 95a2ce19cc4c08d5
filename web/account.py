"""Signing in and out, and a person's own settings: name, look, password, keys for machines."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from teams import services
from teams.models import ApiToken
from web.requests import PersonRequest

SCOPE_WORDS = {
    "read": gettext_lazy("read what I may see"),
    "plans": gettext_lazy("write plans and proposals"),
    "usage": gettext_lazy("deliver usage, allocate it and book cost"),
    "metrics": gettext_lazy("report metrics of runs"),
    "can_start": gettext_lazy("ask whether a job may start"),
}


@dataclass(frozen=True)
class ExampleForecast:
    p10: Decimal
    p50: Decimal
    p90: Decimal


@dataclass(frozen=True)
class ExampleLine:
    """A budget line that nobody owns, to show the picture before one signs in; in percent of itself."""

    label: str | Promise
    actual: Decimal
    committed: Decimal
    forecast: ExampleForecast
    kind: str
    word: str | Promise
    budget: Decimal = Decimal(100)


def example(label: str | Promise, shares: tuple[int, int], ends: tuple[int, int, int], state: tuple) -> ExampleLine:
    forecast = ExampleForecast(*(Decimal(end) for end in ends))
    return ExampleLine(label, Decimal(shares[0]), Decimal(shares[1]), forecast, *state)


EXAMPLES = [
    example(gettext_lazy("Storage"), (45, 11), (62, 68, 75), ("ok", gettext_lazy("on track"))),
    example(gettext_lazy("Compute"), (82, 13), (95, 101, 109), ("warn", gettext_lazy("forecast past limit"))),
    example(gettext_lazy("Network and interconnect"), (105, 0), (108, 112, 117), ("over", gettext_lazy("overrun"))),
]


class SignInForm(AuthenticationForm):
    error_messages = {
        "invalid_login": gettext_lazy("E-mail and password do not belong together. Both are case-sensitive."),
        "inactive": gettext_lazy("This account is not active."),
    }


class PasswordForm(PasswordChangeForm):
    """Without Django's autofocus: the page has other forms before it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


class NameForm(forms.Form):
    name = forms.CharField(label=pgettext_lazy("of a person", "Name"), max_length=120)


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("What is it for?"), max_length=80, help_text=gettext_lazy("Such as: job scheduler")
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("It may"), choices=list(SCOPE_WORDS.items()), widget=forms.CheckboxSelectMultiple
    )


def account_page(request: PersonRequest, **shown: object) -> HttpResponse:
    """The settings page; `shown` replaces a form that was refused, or adds the secret of a new key."""
    words = {
        "name_form": NameForm(initial={"name": request.user.name}),
        "password_form": PasswordForm(request.user),
        "token_form": TokenForm(initial={"scopes": ["read"]}, auto_id="token_%s"),
        "tokens": [(token, [SCOPE_WORDS.get(scope, scope) for scope in token.scopes]) for token in tokens_of(request)],
        "now": timezone.now(),
        **shown,
    }
    return render(request, "web/account/account.html", words)


def tokens_of(request: PersonRequest) -> list[ApiToken]:
    return list(ApiToken.objects.filter(user=request.user).order_by("-created_at"))


@login_required
def account(request: PersonRequest) -> HttpResponse:
    if request.method != "POST":
        return account_page(request)
    form = NameForm(request.POST)
    if not form.is_valid():
        return account_page(request, name_form=form)
    services.rename_person(by=request.user, name=form.cleaned_data["name"])
    messages.success(request, _("Saved."))
    return redirect("account")


@login_required
@require_POST
def change_password(request: PersonRequest) -> HttpResponse:
    form = PasswordForm(request.user, request.POST)
    if not form.is_valid():
        return account_page(request, password_form=form)
    update_session_auth_hash(request, form.save())
    messages.success(request, _("The password is changed. Other devices have been signed out."))
    return redirect("account")


@login_required
@require_POST
def issue_token(request: PersonRequest) -> HttpResponse:
    """The secret is on this one answer and never again."""
    form = TokenForm(request.POST, auto_id="token_%s")
    if not form.is_valid():
        return account_page(request, token_form=form)
    try:
        token, secret = services.issue_token(
            by=request.user,
            now=timezone.now(),
            name=form.cleaned_data["name"],
            scopes=tuple(form.cleaned_data["scopes"]),
        )
    except DomainError as refusal:
        form.add_error(None, refusal.message)
        return account_page(request, token_form=form)
    response = account_page(request, new_token=token, secret=secret)
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_POST
def revoke_token(request: PersonRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=token_id, user=request.user)
    services.revoke_token(token, by=request.user)
    messages.success(request, _("The key %(name)s is revoked.") % {"name": token})
    return redirect("account")


@require_POST
def look(request: HttpRequest) -> HttpResponse:
    """Change language or theme, before signing in too (then a cookie keeps the language)."""
    language, theme = request.POST.get("language"), request.POST.get("theme")
    if request.user.is_authenticated:
        try:
            services.choose_look(by=request.user, language=language, theme=theme)
        except ValidationError as refusal:
            raise Http404 from refusal
    response = HttpResponseRedirect(safe_next(request))
    if language in dict(settings.LANGUAGES):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            language,
            max_age=365 * 24 * 3600,
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
        )
    return response


def admin_login(request: HttpRequest) -> HttpResponse:
    """The admin panel has no door of its own; who is signed in and may not enter is told so."""
    if request.user.is_authenticated and not request.user.is_staff:
        raise PermissionDenied(_("The admin panel is open to price keepers and administrators."))
    return redirect_to_login(request.GET.get("next", reverse("admin:index")), reverse("login"))


def safe_next(request: HttpRequest) -> str:
    """Where the person came from, if that is a page of ours."""
    address = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        return address
    return reverse("home")


urlpatterns = [
    path(
        "login/",
        LoginView.as_view(
            template_name="web/account/login.html",
            authentication_form=SignInForm,
            redirect_authenticated_user=True,
            extra_context={"examples": EXAMPLES},
        ),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("look/", look, name="look"),
    path("account/", account, name="account"),
    path("account/password/", change_password, name="account-password"),
    path("account/tokens/", issue_token, name="token-new"),
    path("account/tokens/<int:token_id>/revoke/", revoke_token, name="token-revoke"),
]
