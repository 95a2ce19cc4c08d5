"""Who may do what: one question each. A role in the whole organisation counts for every team."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from .models import Project, Role, Team, User


def has_role(user: User, role: Role | str, team: Team | None = None) -> bool:
    """Does the person hold the role, for this team or for the whole organisation?"""
    teams = {None, team.pk if team else None}
    return user.is_active and any(
        membership.role == role and membership.team_id in teams for membership in user.memberships.all()
    )


def people_with_role(role: Role | str, team: Team | None = None) -> QuerySet[User]:
    """Active people who hold the role for this team or for the whole organisation."""
    where = Q(memberships__team__isnull=True) | (Q(memberships__team=team) if team else Q(pk__in=[]))
    return User.objects.filter(where, memberships__role=role, is_active=True).distinct()


def may_see_project(user: User, project: Project) -> bool:
    return Project.objects.visible_to(user).filter(pk=project.pk).exists()


def may_write_plans(user: User, team: Team) -> bool:
    """Members and managers of the team write its plans and proposals."""
    return has_role(user, Role.MEMBER, team) or has_role(user, Role.MANAGER, team)


def may_fund(user: User, team: Team) -> bool:
    """New money on a line: managers of the team, directors, finance."""
    return any(has_role(user, role, team) for role in (Role.MANAGER, Role.DIRECTOR, Role.FINANCE))


def may_transfer(user: User, team: Team) -> bool:
    """Money between the lines of a project: managers of the team, finance."""
    return has_role(user, Role.MANAGER, team) or has_role(user, Role.FINANCE)


def may_open_projects(user: User, team: Team) -> bool:
    return has_role(user, Role.MANAGER, team) or has_role(user, Role.FINANCE)


def may_keep_prices(user: User) -> bool:
    return user.is_active and (user.is_superuser or has_role(user, Role.PRICE_KEEPER))


def may_make_live(user: User) -> bool:
    """Operators decide which of two statements stands, where time alone cannot."""
    return user.is_active and (user.is_superuser or has_role(user, Role.OPERATOR))


def may_keep_clusters(user: User) -> bool:
    """The register of clusters: operators."""
    return user.is_active and (user.is_superuser or has_role(user, Role.OPERATOR))


def may_import_usage(user: User) -> bool:
    """Operators, and the machine accounts that push bills and logs."""
    return user.is_active and (
        user.is_superuser
        or has_role(user, Role.OPERATOR)
        or has_role(user, Role.MACHINE)
        or has_role(user, Role.FINANCE)
    )


def may_allocate(user: User) -> bool:
    """Write allocation rules and re-assign usage."""
    return user.is_active and (user.is_superuser or has_role(user, Role.OPERATOR) or has_role(user, Role.FINANCE))


def may_book(user: User, team: Team) -> bool:
    """Book what no meter sees, and reverse it: managers of the team, finance."""
    return has_role(user, Role.MANAGER, team) or has_role(user, Role.FINANCE)


def projects_to_book_on(user: User) -> QuerySet[Project]:
    """The projects of the teams for which the person may book."""
    if has_role(user, Role.FINANCE):
        return Project.objects.all()
    return Project.objects.filter(team__in=user.memberships.filter(role=Role.MANAGER).values("team"))


def may_confirm_bookings(user: User) -> bool:
    """Say yes to what recurs every month."""
    return has_role(user, Role.FINANCE)


def may_keep_webhooks(user: User, team: Team | None) -> bool:
    """Say where warnings go outside: managers for their team, finance for all."""
    return has_role(user, Role.FINANCE, team) or (team is not None and has_role(user, Role.MANAGER, team))


def may_enter_webhooks(user: User) -> bool:
    """Managers, finance and operators see where warnings go."""
    return user.is_active and any(
        membership.role in (Role.MANAGER, Role.FINANCE, Role.OPERATOR) for membership in user.memberships.all()
    )


def may_keep_quiet(user: User, team: Team) -> bool:
    """Keep the warnings of a project in the house for some days: managers of the team, finance."""
    return has_role(user, Role.MANAGER, team) or has_role(user, Role.FINANCE, team)


def may_see_all_usage(user: User) -> bool:
    """Usage that no project owns is shown to whoever has a role in the whole organisation."""
    return user.is_active and user.sees_every_team()


def may_close_books(user: User) -> bool:
    """Close a month, and open it again: finance."""
    return has_role(user, Role.FINANCE)


def may_see_capacity(user: User) -> bool:
    """What all teams want of the cards in time: whoever decides on money, and who has a role in the whole."""
    deciding = (Role.MANAGER, Role.DIRECTOR, Role.FINANCE)
    return may_see_all_usage(user) or (
        user.is_active and any(membership.role in deciding for membership in user.memberships.all())
    )
