"""Plain makers of the organisation's things, with honest defaults."""

from __future__ import annotations

from django.utils.text import slugify

from teams.models import CostCentre, Membership, Organisation, Project, Role, Team, User

PASSWORD = "correct horse battery"


def organisation(*, currency: str = "USD", time_zone: str = "UTC") -> Organisation:
    return Organisation.objects.update_or_create(
        singleton=True, defaults={"name": "Example Lab", "currency": currency, "time_zone": time_zone}
    )[0]


def user(email: str, *, name: str = "", **fields) -> User:
    return User.objects.create_user(email, PASSWORD, name=name or email.partition("@")[0].title(), **fields)


def team(name: str) -> Team:
    return Team.objects.create(name=name, slug=slugify(name))


def member(person: User, in_team: Team | None, role: Role) -> Membership:
    return Membership.objects.create(user=person, team=in_team, role=role)


def project(of_team: Team, name: str, *, currency: str = "USD", **fields) -> Project:
    return Project.objects.create(team=of_team, name=name, slug=slugify(name), currency=currency, **fields)


def cost_centre(code: str = "CC-1") -> CostCentre:
    return CostCentre.objects.create(code=code, name="Research")
