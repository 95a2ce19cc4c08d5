"""Watched folders: complete files are taken once, others wait visibly, nothing outside of the root is read."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.errors import DomainError
from tests.usage import factories
from tests.usage.factories import focus
from usage import services as usage
from usage.feeds import services
from usage.feeds.folder import Folder
from usage.feeds.places import ChangedError, Found
from usage.feeds.schedule import next_look
from usage.models import Feed, FeedFile, Import

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
MUCH_LATER = NOW + timedelta(hours=2)


@pytest.fixture
def root(settings, tmp_path: Path) -> Path:
    root = tmp_path / "watched"
    (root / "cloud").mkdir(parents=True)
    (root / "unrelated").mkdir()
    (root / "unrelated" / "other.csv").write_bytes(focus({"BilledCost": "999"}))
    (tmp_path / "secret.csv").write_text("secret")
    settings.WATCH_ROOT = str(root)
    return root


@pytest.fixture
def feed(stage, root) -> Feed:
    return services.set_feed(
        factories.source(), by=stage.operator, kind="folder", path="cloud", every_minutes=60, now=NOW, pattern="*.csv*"
    )


def states(feed: Feed) -> dict[str, str]:
    return dict(feed.files.values_list("name", "state"))


def look_twice(feed: Feed) -> int:
    return services.look(feed.pk, now=NOW) + services.look(feed.pk, now=LATER)


def test_a_file_is_taken_when_it_stood_still_between_two_looks(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))

    first = services.look(feed.pk, now=NOW)
    between = states(feed)
    second = services.look(feed.pk, now=LATER)

    assert (first, between, second) == (0, {"march.csv": "settling"}, 1)
    delivery = Import.objects.get()
    assert (delivery.name, delivery.received_by, delivery.status) == ("march.csv", None, "queued")
    assert usage.run_import(delivery.pk)["totals"]["USD"]["billed"] == "10"
    assert (root / "cloud" / "march.csv").exists()


def test_what_may_still_be_written_is_looked_at_again_soon(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))

    services.look(feed.pk, now=NOW)
    feed.refresh_from_db()

    assert feed.next_look_at == NOW + timedelta(seconds=30)


def test_a_file_that_grew_between_two_looks_waits_for_a_third(feed, root):
    path = root / "cloud" / "march.csv"
    path.write_bytes(focus({})[:100])
    services.look(feed.pk, now=NOW)
    path.write_bytes(focus({}))

    assert services.look(feed.pk, now=LATER) == 0
    assert services.look(feed.pk, now=LATER + timedelta(minutes=1)) == 1


def test_a_marker_says_that_a_file_is_complete(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))
    (root / "cloud" / "march.csv.done").touch()

    assert services.look(feed.pk, now=NOW) == 1
    assert states(feed) == {"march.csv": "taken", "march.csv.done": "marker"}


def test_each_file_is_taken_once(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))
    look_twice(feed)

    assert services.look(feed.pk, now=MUCH_LATER) == 0
    assert Import.objects.count() == 1


def test_the_same_content_under_another_name_is_known(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))
    look_twice(feed)
    (root / "cloud" / "again.csv").write_bytes(focus({}))
    (root / "cloud" / "again.csv.done").touch()

    assert services.look(feed.pk, now=MUCH_LATER) == 0
    assert states(feed)["again.csv"] == "known"
    assert Import.objects.count() == 1


def test_a_file_that_changed_after_it_was_taken_is_delivered_again(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))
    look_twice(feed)
    (root / "cloud" / "march.csv").write_bytes(focus({"BilledCost": "11"}))

    services.look(feed.pk, now=MUCH_LATER)

    assert services.look(feed.pk, now=MUCH_LATER + timedelta(minutes=1)) == 1
    assert Import.objects.count() == 2


def test_parts_of_a_manifest_wait_for_each_other_and_count_as_one_delivery(feed, root):
    one, two = focus({"ResourceId": "node-1"}), focus({"ResourceId": "node-2", "BilledCost": "5"})
    (root / "cloud" / "part-1.csv").write_bytes(one)
    manifest = {"reportKeys": ["exports/cloud/part-1.csv", "exports/cloud/part-2.csv"]}
    (root / "cloud" / "march-Manifest.json").write_text(json.dumps(manifest))
    waited = look_twice(feed)
    reason = feed.files.get(name="part-1.csv").reason
    (root / "cloud" / "part-2.csv").write_bytes(two)
    (root / "cloud" / "part-2.csv.done").touch()

    taken = services.look(feed.pk, now=MUCH_LATER)

    assert (waited, taken) == (0, 1)
    assert "part-2.csv" in reason
    answer = usage.run_import(Import.objects.get().pk)
    assert (answer["status"], answer["rows_read"], answer["totals"]["USD"]["billed"]) == ("live", 2, "15")


def test_a_part_smaller_than_its_manifest_says_waits(feed, root):
    (root / "cloud" / "part.csv").write_bytes(focus({})[:50])
    manifest = {"blobs": [{"blobName": "part.csv", "byteCount": len(focus({}))}]}
    (root / "cloud" / "manifest.json").write_text(json.dumps(manifest))
    waited = look_twice(feed)
    (root / "cloud" / "part.csv").write_bytes(focus({}))

    assert (waited, services.look(feed.pk, now=MUCH_LATER)) == (0, 1)


def test_a_manifest_never_leads_out_of_the_folder(feed, root):
    (root / "cloud" / "manifest.json").write_text(json.dumps({"files": ["../../secret.csv", "/etc/passwd"]}))

    assert look_twice(feed) == 0
    assert not Import.objects.exists()


@pytest.mark.parametrize("path", ["..", "cloud/../..", "/etc", "a//b", "./cloud", "cloud\\..", "cl\0oud", "a\nb"])
def test_a_path_that_could_lead_out_is_refused(stage, root, path):
    with pytest.raises(DomainError) as refused:
        services.set_feed(factories.source(), by=stage.operator, kind="folder", path=path, every_minutes=5, now=NOW)

    assert refused.value.faults[0].path == "path"


def test_links_pipes_and_hard_links_are_refused_visibly(feed, root, tmp_path):
    (root / "cloud" / "soft.csv").symlink_to(tmp_path / "secret.csv")
    (root / "cloud" / "folder").symlink_to(tmp_path)
    os.link(tmp_path / "secret.csv", root / "cloud" / "hard.csv")
    os.mkfifo(root / "cloud" / "pipe.csv")

    assert look_twice(feed) == 0
    assert states(feed) == dict.fromkeys(["soft.csv", "folder", "hard.csv", "pipe.csv"], "refused")
    assert not Import.objects.exists()


def test_a_watched_folder_that_is_a_link_is_not_entered(stage, root, tmp_path):
    (root / "away").symlink_to(tmp_path)
    feed = services.set_feed(
        factories.source(), by=stage.operator, kind="folder", path="away", every_minutes=5, now=NOW
    )

    services.look(feed.pk, now=NOW)
    feed.refresh_from_db()

    assert "away is no folder" in feed.last_error
    assert not feed.files.exists()


def test_a_file_swapped_for_a_link_after_the_look_is_not_read(root, tmp_path):
    path = root / "cloud" / "march.csv"
    path.write_bytes(b"bill")
    folder = Folder(str(root), "cloud")
    found = folder.look().files[0]
    path.unlink()
    path.symlink_to(tmp_path / "secret.csv")

    with pytest.raises(ChangedError):
        folder.open(found)


def test_a_folder_swapped_for_a_link_after_the_look_is_not_entered(root, tmp_path):
    (root / "cloud" / "sub").mkdir()
    (root / "cloud" / "sub" / "secret.csv").write_bytes(b"bill")
    folder = Folder(str(root), "cloud")
    found: Found = folder.look().files[0]
    (root / "cloud" / "sub" / "secret.csv").unlink()
    (root / "cloud" / "sub").rmdir()
    (root / "cloud" / "sub").symlink_to(tmp_path)

    with pytest.raises(ChangedError):
        folder.open(found)


def test_without_a_root_no_folder_is_watched(stage, settings):
    settings.WATCH_ROOT = ""

    with pytest.raises(DomainError, match="HEADROOM_WATCH_ROOT"):
        services.set_feed(factories.source(), by=stage.operator, kind="folder", path="", every_minutes=5, now=NOW)


def test_a_feed_whose_root_was_taken_away_says_so(feed, settings):
    settings.WATCH_ROOT = ""

    services.look(feed.pk, now=NOW)
    feed.refresh_from_db()

    assert "no root" in feed.last_error
    assert feed.next_look_at == NOW + timedelta(hours=1)


def test_only_operators_and_finance_say_where_files_appear(stage, root):
    for person in (stage.alice, stage.charlie, stage.manager, stage.auditor):
        with pytest.raises(DomainError, match="Only an operator"):
            services.set_feed(
                factories.source(f"of-{person.pk}"), by=person, kind="folder", path="", every_minutes=5, now=NOW
            )


def test_two_workers_do_not_look_at_one_feed_at_once(feed, root):
    claimed = Feed.objects.due(NOW).filter(pk=feed.pk).update(claimed_until=NOW + timedelta(minutes=5))

    assert claimed == 1
    assert services.look(feed.pk, now=NOW) == 0
    assert services.look_where_due(LATER) == 0


def test_a_worker_that_died_after_delivering_leaves_nothing_to_deliver_twice(feed, root):
    (root / "cloud" / "march.csv").write_bytes(focus({}))
    (root / "cloud" / "march.csv.done").touch()
    services.look(feed.pk, now=NOW)
    FeedFile.objects.all().delete()
    Feed.objects.update(claimed_until=NOW + timedelta(minutes=5), next_look_at=NOW)

    during = services.look_where_due(NOW + timedelta(minutes=1))
    afterwards = services.look_where_due(NOW + timedelta(minutes=6))

    assert (during, afterwards, Import.objects.count()) == (0, 0, 1)
    assert states(feed)["march.csv"] == "known"


def test_a_look_can_be_asked_for_before_its_time(feed, root, stage):
    services.look(feed.pk, now=NOW)
    services.ask_for_look(feed, by=stage.operator, now=LATER)
    feed.refresh_from_db()

    assert Feed.objects.due(LATER).get() == feed
    with pytest.raises(DomainError, match="Only an operator"):
        services.ask_for_look(feed, by=stage.charlie, now=LATER)


def test_a_file_whose_import_was_refused_is_tried_again_when_asked(feed, root, stage):
    (root / "cloud" / "march.csv").write_text("no bill\n")
    look_twice(feed)
    assert usage.run_import(Import.objects.get().pk)["status"] == "refused"
    assert services.look(feed.pk, now=MUCH_LATER) == 0

    services.ask_for_look(feed, by=stage.operator, now=MUCH_LATER)

    assert services.look(feed.pk, now=MUCH_LATER) == 1


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (datetime(2026, 3, 6, 8, 0, tzinfo=UTC), datetime(2026, 3, 6, 22, 30, tzinfo=UTC)),
        (datetime(2026, 3, 6, 22, 30, tzinfo=UTC), datetime(2026, 3, 7, 22, 30, tzinfo=UTC)),
    ],
)
def test_daily_is_a_time_of_the_sources_own_clock(after, expected):
    assert next_look(after, every_minutes=None, daily_at=time(6, 30), zone=ZoneInfo("Asia/Shanghai")) == expected


def test_daily_stays_at_its_hour_when_clocks_change():
    berlin = ZoneInfo("Europe/Berlin")

    before = next_look(datetime(2026, 3, 27, 12, tzinfo=UTC), every_minutes=None, daily_at=time(6), zone=berlin)
    behind = next_look(datetime(2026, 3, 28, 12, tzinfo=UTC), every_minutes=None, daily_at=time(6), zone=berlin)

    assert (before, behind) == (datetime(2026, 3, 28, 5, tzinfo=UTC), datetime(2026, 3, 29, 4, tzinfo=UTC))


@pytest.mark.parametrize(
    "schedule", [{}, {"every_minutes": 0}, {"every_minutes": 5, "daily_at": time(6)}, {"every_minutes": 50_000}]
)
def test_a_schedule_is_every_so_often_or_daily(stage, root, schedule):
    with pytest.raises(DomainError, match="schedule"):
        services.set_feed(factories.source(), by=stage.operator, kind="folder", path="", now=NOW, **schedule)


# ---- the files of a folder as one delivery


@pytest.fixture
def exports(stage, root) -> Feed:
    return services.set_feed(
        factories.source(),
        by=stage.operator,
        kind="folder",
        path="cloud",
        every_minutes=60,
        now=NOW,
        pattern="*.csv",
        folder_is_one=True,
    )


def export(root: Path, month: str, **parts: str) -> Path:
    folder = root / "cloud" / month
    folder.mkdir(exist_ok=True)
    for name, cost in parts.items():
        (folder / f"{name}.csv").write_bytes(focus({"ResourceId": name, "BilledCost": cost}))
    return folder


def run_all() -> list[str]:
    queued = list(Import.objects.filter(status="queued").order_by("pk"))
    return [usage.run_import(delivery.pk)["totals"]["USD"]["billed"] for delivery in queued]


def test_the_files_of_each_folder_are_one_delivery_when_all_stand_still(exports, root):
    export(root, "03", one="10", two="20")

    assert services.look(exports.pk, now=NOW) == 0
    export(root, "03", three="30")
    early = services.look(exports.pk, now=LATER)
    waiting = states(exports)
    late = services.look(exports.pk, now=LATER + timedelta(minutes=1))

    assert (early, late) == (0, 1)
    assert waiting == {"03/one.csv": "waiting", "03/two.csv": "waiting", "03/three.csv": "settling"}
    assert Import.objects.get().name == "03.zip"
    assert run_all() == ["60"]


def test_a_folder_in_which_a_file_changed_is_delivered_again_as_a_whole(exports, root):
    export(root, "03", one="10", two="20")
    look_twice(exports)
    run_all()

    export(root, "03", two="25")
    services.look(exports.pk, now=MUCH_LATER)
    services.look(exports.pk, now=MUCH_LATER + timedelta(hours=2))

    assert run_all() == ["35"]
    assert services.look(exports.pk, now=MUCH_LATER + timedelta(hours=4)) == 0


def test_a_marker_says_that_a_folder_is_complete(exports, root):
    (export(root, "03", one="10", two="20") / "_SUCCESS").touch()

    assert services.look(exports.pk, now=NOW) == 1


def test_files_that_add_to_each_other_are_never_delivered_as_a_folder(stage, root):
    with pytest.raises(DomainError, match="add to each other"):
        services.set_feed(
            factories.source(meaning="append"),
            by=stage.operator,
            kind="folder",
            path="cloud",
            every_minutes=60,
            now=NOW,
            folder_is_one=True,
        )
