from __future__ import annotations

import pytest

from teams import notifications
from teams.models import Notification, OutboxMessage
from tests.letters import letters


@pytest.fixture
def words(settings, tmp_path):
    """Words of a kind that exists in this test only."""
    folder = tmp_path / "notifications"
    folder.mkdir()
    (folder / "hello.subject.txt").write_text("Hello {{ person.name }}:\n {{ amount }}")
    (folder / "hello.txt").write_text("See {{ url }}")
    (folder / "hello.html").write_text("<p>{{ amount }}</p>")
    settings.SITE_URL = "https://headroom.example.com/"
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}]


def test_each_person_is_told_once_in_the_product_and_by_mail(stage, words):
    told = notifications.notify(
        [stage.alice, stage.bob, stage.alice],
        kind="hello",
        project=stage.project,
        url="/flags/1/",
        email=True,
        amount="5 <",
    )

    assert {row.user for row in told} == {stage.alice, stage.bob}
    letter = letters(stage.alice)[0]
    assert letter.subject == "Hello Alice: 5 &lt;" or letter.subject == "Hello Alice: 5 <"
    assert letter.text == "See https://headroom.example.com/flags/1/\n"
    assert letter.html == "<p>5 &lt;</p>"
    assert Notification.objects.count() == OutboxMessage.objects.count() == 2
