from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from teams import outbox
from teams.models import OutboxMessage

FACTS = {
    "category": "compute",
    "share": "0.8",
    "value": "80",
    "limit": "80",
    "currency": "USD",
    "start": "2027-01-01",
    "end": "2028-01-01",
}


@pytest.fixture
def message(stage):
    def waiting(**fields) -> OutboxMessage:
        about = {"kind": "line_warning", "project": stage.project, "facts": FACTS, "url": "/warnings/7/"}
        return OutboxMessage.objects.create(person=stage.alice, **about, **fields)

    return waiting


@pytest.fixture
def now(db):
    return timezone.now() + timedelta(seconds=1)


def test_a_waiting_message_goes_out_once(now, message):
    waiting = message()

    assert outbox.deliver_due(now) == 1
    assert outbox.deliver_due(now + timedelta(hours=1)) == 0

    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempts) == ("sent", 1)
    assert [letter.to for letter in mail.outbox] == [["alice@example.com"]]


def test_the_words_are_those_of_the_moment_of_sending(now, message, stage):
    message()
    stage.alice.language = "zh-hans"
    stage.alice.save()

    outbox.deliver_due(now)

    (letter,) = mail.outbox
    assert "算力" in letter.subject
    assert "http://127.0.0.1:8000/warnings/7/" in letter.body
    assert letter.alternatives[0].mimetype == "text/html"


def test_a_claim_that_somebody_else_holds_is_left_alone(now, message):
    seen_by_two = message()
    outbox.deliver(OutboxMessage.objects.get(), now)

    assert outbox.deliver(seen_by_two, now) is False
    assert len(mail.outbox) == 1


def test_a_claim_of_a_dead_worker_runs_out(now, message):
    message(state=OutboxMessage.State.SENDING)

    assert outbox.deliver_due(now) == 1


def test_a_failure_waits_longer_each_time_and_is_given_up_visibly(now, monkeypatch, message):
    def refuse(*_args, **_kwargs):
        raise ConnectionRefusedError("no mail server")

    monkeypatch.setattr("django.core.mail.EmailMultiAlternatives.send", refuse)
    waiting = message()

    moment = now
    waits = []
    for _attempt in range(outbox.ATTEMPTS):
        outbox.deliver_due(moment)
        waiting.refresh_from_db()
        waits.append(waiting.next_attempt_at - moment)
        moment = waiting.next_attempt_at

    assert waits == sorted(waits)
    assert (waiting.state, waiting.error) == ("dead", "no mail server")
    assert outbox.deliver_due(moment + timedelta(days=1)) == 0
