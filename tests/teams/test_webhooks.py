"""Webhooks against servers that really listen: signed, pinned to one address, tried again, given up visibly."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.errors import DomainError, NotAllowed
from teams import notifications, outbox
from teams.delivery import addresses, posting, services
from teams.models import Activity, OutboxMessage, Webhook

FACTS = {
    "category": "compute",
    "share": "0.8",
    "value": "80",
    "limit": "80",
    "currency": "USD",
    "start": "2027-01-01",
    "end": "2028-01-01",
}


class Listener(BaseHTTPRequestHandler):
    """Keeps what it was sent and answers what it was told to answer."""

    def do_POST(self):
        self.server.heard.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        status, headers, body = self.server.answer
        if self.server.slowly:
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100:
                self.wfile.write(bytes([byte]))
                time.sleep(0.1)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words):
        return


@pytest.fixture
def listener():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.daemon_threads = True
    server.heard, server.answer, server.slowly = [], (200, {}, b"ok"), False
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def inside(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]


def webhook_to(listener, stage, form="json", **fields):
    url = f"http://127.0.0.1:{listener.server_port}/hook?key=K"
    return services.add_webhook(by=stage.manager, team=stage.team, name="Chat", form=form, url=url, **fields)


def warn(stage, kind="line_warning", **options):
    about = {"people": [], "kind": kind, "project": stage.project, "url": "/warnings/7/", "facts": FACTS}
    notifications.notify_all([notifications.Word(**about, is_warning=True, **options)])


def soon():
    return timezone.now() + timedelta(seconds=1)


def test_json_is_signed_over_time_and_body(stage, listener, inside):
    _webhook, secret = webhook_to(listener, stage)
    warn(stage)
    now = soon()

    assert outbox.deliver_due_webhooks(now) == 1

    ((path, headers, body),) = listener.heard
    stamp = str(int(now.timestamp()))
    assert (path, headers["Headroom-Timestamp"]) == ("/hook?key=K", stamp)
    expected = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["Headroom-Signature"] == f"v1={expected}"
    told = json.loads(body)
    assert (told["kind"], told["facts"]["value"], told["project"]["slug"]) == ("line_warning", "80", "base-7b")
    assert told["title"] == "Base 7B: Compute has reached 80.0 % of its budget"
    assert told["url"] == "http://127.0.0.1:8000/warnings/7/"
    assert "Hello" not in told["text"] and "80 USD, against 80 USD" in told["text"]
    assert OutboxMessage.objects.get().state == "sent"


def test_feishu_is_signed_as_its_robots_ask_and_its_no_with_status_200_is_a_no(stage, listener, inside):
    webhook_to(listener, stage, form="feishu", secret="S", language="zh-hans")
    listener.answer = (200, {}, b'{"code": 19021, "msg": "sign match fail"}')
    warn(stage)
    now = soon()

    assert outbox.deliver_due_webhooks(now) == 0

    told = json.loads(listener.heard[0][2])
    sign = b64encode(hmac.new(f"{told['timestamp']}\nS".encode(), b"", hashlib.sha256).digest()).decode()
    assert (told["sign"], told["timestamp"], told["msg_type"]) == (sign, str(int(now.timestamp())), "post")
    assert "算力" in told["content"]["post"]["zh_cn"]["title"]
    message = OutboxMessage.objects.get()
    assert message.state == "waiting" and "19021" in message.error


def test_slack_gets_words_in_which_nothing_is_a_command(stage, listener, inside):
    webhook_to(listener, stage, form="slack")
    stage.project.name = "A <!channel> & B"
    stage.project.save()
    warn(stage)

    outbox.deliver_due_webhooks(soon())

    text = json.loads(listener.heard[0][2])["text"]
    assert "A &lt;!channel&gt; &amp; B" in text and "<!channel>" not in text
    assert text.startswith("*<http://127.0.0.1:8000/warnings/7/|")


def test_a_webhook_hears_of_its_team_alone_and_one_of_all_teams_of_everything(stage, listener, inside):
    webhook_to(listener, stage)
    url = f"http://127.0.0.1:{listener.server_port}/all"
    services.add_webhook(by=stage.finance, team=None, name="All", form="slack", url=url)

    notifications.notify_all(
        [notifications.Word([], "line_warning", stage.other_project, "/x/", facts=FACTS, is_warning=True)]
    )

    assert [message.webhook.name for message in OutboxMessage.objects.all()] == ["All"]


def test_nothing_is_sent_to_an_inside_address_that_is_allowed_no_more(stage, listener, inside, settings):
    webhook_to(listener, stage)
    warn(stage)
    settings.WEBHOOK_NETWORKS = []

    assert outbox.deliver_due_webhooks(soon()) == 0

    assert listener.heard == []
    assert "not allowed" in OutboxMessage.objects.get().error


INSIDE = """127.0.0.1 10.1.2.3 169.254.169.254 192.168.0.1 100.64.0.1 0.0.0.0 224.0.0.1 :: ::1 fe80::1 fc00::1 ff02::1
::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::"""


@pytest.mark.parametrize("address", INSIDE.split())
def test_what_is_inside_is_seen_in_every_spelling(address):
    assert not addresses.is_public(ip_address(address))


def test_what_is_outside_is_public():
    assert addresses.is_public(ip_address("93.184.215.14")) and addresses.is_public(ip_address("2606:4700::1111"))


def test_a_name_is_resolved_once_and_one_inside_address_among_several_is_enough_to_refuse(monkeypatch):
    def answers(host, port, **_options):
        return [(2, 1, 6, "", ("93.184.215.14", port)), (2, 1, 6, "", ("10.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", answers)

    with pytest.raises(DomainError, match="inside the house"):
        addresses.address_of(addresses.target_of("https://hooks.example.com/x"))


def test_plain_http_stays_inside(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_o: [(2, 1, 6, "", ("93.184.215.14", 80))])

    with pytest.raises(DomainError, match="https"):
        addresses.address_of(addresses.target_of("http://hooks.example.com/x"))


def test_redirects_are_not_followed(stage, listener, inside):
    webhook_to(listener, stage)
    listener.answer = (302, {"Location": f"http://127.0.0.1:{listener.server_port}/elsewhere"}, b"")
    warn(stage)

    outbox.deliver_due_webhooks(soon())

    assert len(listener.heard) == 1
    assert "HTTP 302" in OutboxMessage.objects.get().error


def test_an_answer_that_drips_is_not_waited_for(listener, inside, monkeypatch):
    monkeypatch.setattr(posting, "SECONDS", 0.5)
    listener.slowly = True
    begun = time.monotonic()

    with pytest.raises(OSError):
        posting.post(f"http://127.0.0.1:{listener.server_port}/", b"{}", {})

    assert time.monotonic() - begun < 5


def test_https_checks_the_name_against_the_certificate_while_it_connects_to_the_address(
    listener, inside, tmp_path, monkeypatch
):
    certificate = certificate_for("hooks.example.com", tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    real, asked = socket.getaddrinfo, []

    def answers(host, port, *rest, **options):
        asked.append(host)
        return real("127.0.0.1", port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    url = f"https://hooks.example.com:{listener.server_port}/x"

    assert posting.post(url, b"{}", {}).status == 200
    assert asked.count("hooks.example.com") == 1
    assert listener.heard[0][1]["Host"] == f"hooks.example.com:{listener.server_port}"
    with pytest.raises(ssl.SSLCertVerificationError):
        posting.post(url.replace("hooks", "other"), b"{}", {})


def certificate_for(name, folder):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    begin = datetime.now(UTC) - timedelta(days=1)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=10))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    unsealed = serialization.NoEncryption()
    kept = folder / "certificate.pem"
    kept.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unsealed)
        + built.public_bytes(serialization.Encoding.PEM)
    )
    return kept


def test_a_webhook_that_fails_is_tried_later_and_holds_up_no_other(stage, listener, inside):
    closed = socket.create_server(("127.0.0.1", 0))
    dead_port = closed.getsockname()[1]
    closed.close()
    services.add_webhook(
        by=stage.manager, team=stage.team, name="Dead", form="slack", url=f"http://127.0.0.1:{dead_port}/"
    )
    webhook_to(listener, stage)
    warn(stage)
    warn(stage)
    now = soon()

    assert outbox.deliver_due_webhooks(now) == 2

    dead = OutboxMessage.objects.filter(webhook__name="Dead").order_by("pk")
    assert [message.attempts for message in dead] == [1, 0]
    assert dead[0].next_attempt_at == now + timedelta(minutes=2)


def test_what_was_given_up_is_sent_again_when_asked(stage, listener, inside):
    webhook_to(listener, stage)
    listener.answer = (500, {}, b"no")
    warn(stage)
    moment = soon()
    for _attempt in range(outbox.ATTEMPTS):
        outbox.deliver_due_webhooks(moment)
        moment += timedelta(days=1)
    message = OutboxMessage.objects.get()
    assert message.state == "dead" and "HTTP 500" in message.error

    listener.answer = (204, {}, b"")
    services.send_again([message], by=stage.manager, now=moment)
    assert outbox.deliver_due_webhooks(moment) == 1
    with pytest.raises(DomainError, match="given up"):
        services.send_again([message], by=stage.manager, now=moment)


def test_a_quiet_project_keeps_its_warnings_in_the_house_but_not_that_its_limit_is_reached(stage, listener, inside):
    webhook_to(listener, stage)
    now = soon()
    services.keep_quiet(stage.project, by=stage.manager, until=(now + timedelta(days=7)).date(), now=now)
    warn(stage)
    warn(stage, "line_overrun", is_urgent=True)

    assert outbox.deliver_due_webhooks(now) == 1

    assert json.loads(listener.heard[0][2])["kind"] == "line_overrun"
    assert set(OutboxMessage.objects.values_list("kind", "state")) == {
        ("line_warning", "quiet"),
        ("line_overrun", "sent"),
    }


def test_secrets_are_not_readable_where_they_are_stored(stage, listener, inside):
    webhook, secret = webhook_to(listener, stage)

    stored = Webhook.objects.values().get(pk=webhook.pk)

    assert secret not in str(stored) and "key=K" not in str(stored)
    assert (webhook.secret, webhook.url.endswith("/hook?key=K")) == (secret, True)


def test_another_secret_key_opens_nothing_and_says_what_to_do(stage, listener, inside, settings):
    webhook, _secret = webhook_to(listener, stage)
    settings.SECRET_KEY = "another"

    with pytest.raises(DomainError, match="enter it again"):
        webhook.url  # noqa: B018


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "operator", "auditor", "director"])
def test_others_add_no_webhook_and_keep_nothing_quiet(stage, who):
    person = getattr(stage, who)
    with pytest.raises(NotAllowed):
        services.add_webhook(by=person, team=stage.team, name="x", form="slack", url="https://example.com/x")
    with pytest.raises(NotAllowed):
        services.keep_quiet(stage.project, by=person, until=timezone.now().date(), now=timezone.now())


@pytest.mark.parametrize("url", ["ftp://a/b", "https://", "https://u:p@host/", "https://a b/", "x", "https://a:99999/"])
def test_an_address_that_is_none_is_refused(stage, url):
    with pytest.raises(DomainError, match="cannot be sent there"):
        services.add_webhook(by=stage.manager, team=stage.team, name="x", form="slack", url=url)


def test_managers_add_try_and_disable_on_the_page_and_the_secret_is_shown_once(client, stage, listener, inside):
    client.force_login(stage.manager)
    url = f"http://127.0.0.1:{listener.server_port}/hook"
    form = {"name": "Chat", "team": stage.team.pk, "form": "json", "url": url, "language": "en"}
    shown = client.post("/webhooks/new/", form)
    webhook = Webhook.objects.get()
    assert webhook.secret in shown.content.decode() and shown["Cache-Control"] == "no-store"
    assert webhook.secret not in client.get("/webhooks/").content.decode()

    tried = client.post(f"/webhooks/{webhook.pk}/try/", follow=True)
    assert "took the message" in tried.content.decode()
    listener.answer = (403, {}, b"who are you")
    assert "who are you" in client.post(f"/webhooks/{webhook.pk}/try/", follow=True).content.decode()
    assert OutboxMessage.objects.filter(state="dead").count() == 1

    client.post(f"/webhooks/{webhook.pk}/switch/")
    warn(stage)
    assert not OutboxMessage.objects.filter(kind="line_warning").exists()
    assert set(Activity.objects.values_list("verb", flat=True)) >= {"webhook.added", "webhook.disabled"}


def test_others_do_not_find_the_page_nor_the_webhook(client, stage, listener, inside):
    webhook, _secret = webhook_to(listener, stage)

    client.force_login(stage.charlie)
    assert client.get("/webhooks/").status_code == 404
    client.force_login(stage.other_manager)
    assert "127.0.0.1" not in client.get("/webhooks/").content.decode()
    assert client.post(f"/webhooks/{webhook.pk}/try/").status_code == 404
    assert client.post(f"/webhooks/{webhook.pk}/switch/").status_code == 404


def test_a_manager_sends_again_on_the_page_what_was_given_up_of_the_own_team(client, stage):
    about = {"kind": "line_warning", "facts": FACTS, "state": "dead", "error": "no mail server"}
    own = OutboxMessage.objects.create(person=stage.alice, project=stage.project, **about)
    foreign = OutboxMessage.objects.create(person=stage.charlie, project=stage.other_project, **about)
    client.force_login(stage.manager)
    assert "alice@example.com" in client.get("/webhooks/").content.decode()

    client.post("/webhooks/messages/again/", {"message": foreign.pk})
    client.post("/webhooks/messages/again/", {"message": own.pk})

    assert set(OutboxMessage.objects.values_list("pk", "state")) == {(own.pk, "waiting"), (foreign.pk, "dead")}


def test_the_page_asks_as_often_for_many_messages_as_for_one(
    client, stage, listener, inside, django_assert_num_queries
):
    about = {"kind": "line_warning", "facts": FACTS, "state": "dead", "project": stage.project}
    OutboxMessage.objects.create(person=stage.alice, **about)
    webhook, _secret = webhook_to(listener, stage)
    client.force_login(stage.manager)
    client.get("/webhooks/")

    with CaptureQueriesContext(connection) as one:
        client.get("/webhooks/")
    OutboxMessage.objects.bulk_create(OutboxMessage(webhook=webhook, **about) for _number in range(5))
    with django_assert_num_queries(len(one)):
        client.get("/webhooks/")


@pytest.mark.parametrize(
    "url",
    [
        "https://[::1",
        "https://host:99999/",
        "ftp://host/",
        "https://me:secret@host/",
        f"https://{'a' * 254}/",
        "host/x",
    ],
)
def test_what_is_no_address_is_refused_by_its_host_alone(url):
    with pytest.raises(DomainError) as refused:
        addresses.target_of(url)

    (fault,) = refused.value.faults
    assert fault.path == "url" and "secret" not in str(fault.value) and len(str(fault.value)) <= 60


@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.7/x",
        "https://127.1/x",
        "https://[::1]/x",
        "https://[::ffff:192.168.0.1]/x",
        "https://2130706433/",
    ],
)
def test_an_inside_address_in_figures_is_refused_when_it_is_entered(stage, settings, url):
    settings.WEBHOOK_NETWORKS = []

    with pytest.raises(DomainError, match="inside the house") as refused:
        services.add_webhook(by=stage.finance, team=None, name="x", form="json", url=url)
    assert "HEADROOM_WEBHOOK_NETWORKS" in refused.value.faults[0].accepted
    assert not Webhook.objects.exists()


def test_an_inside_address_that_the_installation_allows_is_taken(stage, settings):
    settings.WEBHOOK_NETWORKS = ["10.0.0.0/24"]

    made, _secret = services.add_webhook(by=stage.finance, team=None, name="x", form="json", url="http://10.0.0.7/x")

    assert made.host == "10.0.0.7"
