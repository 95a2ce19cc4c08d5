from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from teams import permissions
from teams.models import Project, Role, Team
from tests import factories


def visible(person):
    return list(Project.objects.visible_to(person))


def test_a_member_sees_the_projects_of_the_own_team_only(stage):
    assert visible(stage.alice) == [stage.project]
    assert visible(stage.charlie) == [stage.other_project]


@pytest.mark.parametrize("role", ["director", "finance", "keeper", "operator", "auditor"])
def test_a_role_in_the_whole_organisation_sees_every_project(stage, role):
    assert visible(getattr(stage, role)) == [stage.project, stage.other_project]


def test_nobody_sees_nothing(stage):
    assert visible(AnonymousUser()) == []
    assert visible(factories.user("new@example.com")) == []


def test_a_manager_funds_the_own_team_only(stage):
    assert permissions.may_fund(stage.manager, stage.team)
    assert not permissions.may_fund(stage.manager, stage.other_team)
    assert not permissions.may_fund(stage.alice, stage.team)


def test_who_has_left_may_nothing(stage):
    stage.manager.is_active = False
    stage.manager.save()

    assert not permissions.may_fund(stage.manager, stage.team)
    assert stage.manager not in permissions.people_with_role(Role.MANAGER, stage.team)


def test_people_with_a_role_are_named_once(stage):
    factories.member(stage.director, Team.objects.get(slug="foundation"), Role.DIRECTOR)

    assert list(permissions.people_with_role(Role.DIRECTOR, stage.team)) == [stage.director]
