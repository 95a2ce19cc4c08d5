from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError

from core.errors import DomainError
from teams import services
from teams.models import Activity, ApiToken, Project

NOW = datetime(2027, 1, 4, 9, tzinfo=UTC)


def open_project(stage, *, by, name="Code 7B"):
    return services.open_project(by=by, team=stage.team, name=name, currency="USD", task_type="pretrain")


def test_a_manager_opens_a_project_and_it_is_on_record(stage):
    project = open_project(stage, by=stage.manager)

    assert (project.slug, project.team) == ("code-7b", stage.team)
    assert Activity.objects.get(verb="project.opened").by == stage.manager


def test_a_second_project_of_the_same_name_gets_its_own_short_name(stage):
    open_project(stage, by=stage.manager)

    assert open_project(stage, by=stage.manager).slug == "code-7b-2"


def test_a_name_without_latin_letters_still_gets_a_short_name(stage):
    assert open_project(stage, by=stage.manager, name="基座模型").slug == "project"


@pytest.mark.parametrize("person", ["alice", "charlie", "other_manager", "auditor"])
def test_others_open_no_project(stage, person):
    with pytest.raises(DomainError, match="manager of Foundation or finance"):
        open_project(stage, by=getattr(stage, person))

    assert Project.objects.count() == 2


def test_a_project_that_ends_before_it_starts_is_refused_with_the_place(stage):
    with pytest.raises(DomainError) as refusal:
        services.open_project(
            by=stage.manager,
            team=stage.team,
            name="Backwards",
            currency="USD",
            task_type="pretrain",
            starts_on=NOW.date(),
            ends_on=NOW.date(),
        )

    assert [fault.path for fault in refusal.value.faults] == ["ends_on"]


def test_a_token_is_kept_as_a_hash_and_lives_thirty_days(stage):
    token, secret = services.issue_token(by=stage.alice, now=NOW, name="laptop")

    assert secret not in str(ApiToken.objects.values_list())
    assert token.digest == ApiToken.digest_of(secret)
    assert token.expires_at == NOW + timedelta(days=30)


def test_an_unknown_scope_is_refused(stage):
    with pytest.raises(DomainError) as refusal:
        services.issue_token(by=stage.alice, now=NOW, scopes=("everything",))

    assert refusal.value.faults[0].value == ["everything"]


def test_only_the_owner_revokes_a_token(stage):
    token, _secret = services.issue_token(by=stage.alice, now=NOW)

    with pytest.raises(DomainError, match="belongs to"):
        services.revoke_token(token, by=stage.bob)
    services.revoke_token(token, by=stage.alice)

    assert not ApiToken.objects.exists()


def test_a_theme_that_does_not_exist_is_refused(stage):
    with pytest.raises(ValidationError):
        services.choose_look(by=stage.alice, theme="pink")
