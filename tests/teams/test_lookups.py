"""Keys that travel as one array."""

from __future__ import annotations

import pytest

from teams.models import Project

pytestmark = pytest.mark.django_db


def test_a_key_is_one_of_many(stage):
    keys = [stage.project.pk, stage.project.pk, 0]

    assert list(Project.objects.filter(pk__among=keys)) == [stage.project]
    assert list(Project.objects.exclude(pk__among=set(keys))) == [stage.other_project]
    assert list(Project.objects.filter(team__among={stage.project.team_id: "a"})) == [stage.project]


def test_without_keys_nothing_is_found(stage):
    assert not Project.objects.filter(pk__among=[]).exists()
    assert Project.objects.exclude(pk__among=()).count() == 2


def test_thousands_of_keys_are_one_parameter(stage):
    asked = Project.objects.filter(team__among=range(100_000))

    assert len(asked.query.sql_with_params()[1]) == 1
    assert set(asked) == {stage.project, stage.other_project}
