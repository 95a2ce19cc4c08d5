"""Feeds set up, and looked at: what is complete is delivered, each file once; the originals are only read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import IO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, permissions
from teams.models import User

from .. import services as usage
from ..models import Feed, FeedFile, Import, Meaning, Source
from ..pipeline import files
from ..pipeline.packing import pack
from ..reading import manifest
from . import completeness
from .bucket import Bucket, configured_store
from .completeness import Bundle, Judged, Seen
from .folder import Folder
from .places import ChangedError, ClosedError, Found, Listing, Place, path_below
from .schedule import next_look

LEASE = timedelta(minutes=5)
SOON = timedelta(seconds=30)
"""When to look again at what may still be written."""
MOST_OF_A_MANIFEST = 4 << 20
BLOCK = 1 << 20
OVER = (Import.Status.REFUSED, Import.Status.FAILED, Import.Status.CANCELLED)
"""Deliveries that left nothing: the same bytes may come again."""


class LostClaimError(Exception):
    """Another worker looks at the feed by now."""


def kinds_that_are_on() -> list[str]:
    """The kinds of places this installation has a root for."""
    found = [(Feed.Kind.FOLDER, settings.WATCH_ROOT), (Feed.Kind.BUCKET, settings.BUCKET_ROOT)]
    return [str(kind) for kind, root in found if root]


@transaction.atomic
def set_feed(
    source: Source,
    *,
    by: User,
    kind: str,
    path: str,
    now: datetime,
    pattern: str = "*",
    every_minutes: int | None = None,
    daily_at: time | None = None,
    time_zone: str = "UTC",
    is_on: bool = True,
    folder_is_one: bool = False,
) -> Feed:
    """Say where a source's files appear and when to look. The first look is at once."""
    locked = Source.objects.select_for_update(no_key=True).get(pk=source.pk)
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance says where a source's files appear."))
    if kind not in kinds_that_are_on():
        raise DomainError(
            _("This installation has no root for this kind of place. Set HEADROOM_WATCH_ROOT or HEADROOM_BUCKET_ROOT."),
            code="no_root",
            faults=[Fault("kind", kind, _("has no root"), ", ".join(kinds_that_are_on()))],
        )
    path_below(path)
    if folder_is_one and locked.meaning == Meaning.APPEND:
        message = _("Files of this source add to each other, so each is a delivery of its own.")
        raise DomainError(message, faults=[Fault("folder_is_one", True, message)])
    check_schedule(every_minutes, daily_at, time_zone)
    feed, _made = Feed.objects.update_or_create(
        source=locked,
        defaults={
            "kind": kind,
            "path": path.strip().rstrip("/"),
            "pattern": pattern.strip() or "*",
            "folder_is_one": folder_is_one,
            "every_minutes": every_minutes,
            "daily_at": daily_at,
            "time_zone": time_zone,
            "is_on": is_on,
            "next_look_at": now,
            "last_error": "",
        },
    )
    activity.record("feed.set", by=by, subject=locked, slug=locked.slug, kind=kind, path=feed.path, is_on=is_on)
    return feed


def check_schedule(every_minutes: int | None, daily_at: time | None, time_zone: str) -> None:
    faults = []
    if (every_minutes is None) == (daily_at is None):
        faults.append(Fault("every_minutes", every_minutes, _("say either every so many minutes, or daily at a time")))
    elif every_minutes is not None and not 1 <= every_minutes <= 43_200:
        faults.append(Fault("every_minutes", every_minutes, _("is out of range"), "1 – 43200"))
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        faults.append(Fault("time_zone", time_zone, _("is no time zone such as Asia/Shanghai"), "UTC, Asia/Shanghai …"))
    if faults:
        raise DomainError(_("The schedule is not accepted."), code="schedule_refused", faults=faults)


@transaction.atomic
def ask_for_look(feed: Feed, *, by: User, now: datetime) -> None:
    """Have a feed looked at now, whatever its schedule says. Files whose import was refused are tried again."""
    locked = Feed.objects.select_for_update(no_key=True, of=("self",)).select_related("source").get(pk=feed.pk)
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account has sources looked at."))
    if not locked.is_on:
        raise DomainError(_("This feed is switched off. Switch it on first."), code="wrong_state")
    locked.files.filter(delivery__status__in=OVER).update(state=FeedFile.State.SETTLING)
    locked.next_look_at = min(locked.next_look_at, now)
    locked.save(update_fields=["next_look_at"])
    activity.record("feed.asked", by=by, subject=locked.source, slug=locked.source.slug)


def look_where_due(now: datetime) -> int:
    """Look at every feed whose time has come; how many deliveries that made. May run twice and side by side."""
    due = list(Feed.objects.due(now).order_by("next_look_at").values_list("pk", flat=True))
    return sum(look(feed_id, now=now) for feed_id in due)


def look(feed_id: int, *, now: datetime) -> int:
    """Look at one feed if it is due and nobody does; how many deliveries that made.

    A worker that dies in the middle leaves a claim that runs out; what it had delivered is known by its content.
    """
    claim = Claim(feed_id)
    if not claim.take(now):
        return 0
    feed = Feed.objects.select_related("source").get(pk=feed_id)
    try:
        return Look(feed, claim, now).run()
    except LostClaimError:
        return 0
    except DomainError as refusal:
        claim.let_go(
            last_look_at=now, last_error=refusal.message, last_seen=0, last_taken=0, next_look_at=after(feed, now)
        )
        return 0


def after(feed: Feed, now: datetime) -> datetime:
    return next_look(now, every_minutes=feed.every_minutes, daily_at=feed.daily_at, zone=feed.zone)


class Claim:
    """Held while one worker looks: taken, prolonged and let go by conditional updates."""

    def __init__(self, feed_id: int) -> None:
        self._feed_id = feed_id
        self._until: datetime | None = None

    def take(self, now: datetime) -> bool:
        self._until = now + LEASE
        return bool(Feed.objects.due(now).filter(pk=self._feed_id).update(claimed_until=self._until))

    def beat(self) -> None:
        """Prolong it; at most twice a minute that costs an update."""
        now = timezone.now()
        if self._until and self._until - now > LEASE - SOON:
            return
        if not self._held().update(claimed_until=now + LEASE):
            raise LostClaimError
        self._until = now + LEASE

    def let_go(self, **kept: object) -> None:
        self._held().update(claimed_until=None, **kept)

    def _held(self) -> QuerySet[Feed]:
        return Feed.objects.filter(pk=self._feed_id, claimed_until=self._until)


def place_of(feed: Feed) -> Place:
    if feed.kind not in kinds_that_are_on():
        raise DomainError(_("This installation has no root for this kind of place any more."), code="no_root")
    if feed.kind == Feed.Kind.BUCKET:
        return Bucket(configured_store(), feed.path)
    return Folder(settings.WATCH_ROOT, feed.path)


class Look:
    """One look at one feed."""

    def __init__(self, feed: Feed, claim: Claim, now: datetime) -> None:
        self._feed, self._claim, self._now = feed, claim, now
        self._place = place_of(feed)
        self._rows = {row.name: row for row in feed.files.all()}

    def run(self) -> int:
        listing = self._place.look()
        self._claim.beat()
        judged = self._judge(listing)
        self._note(listing, judged)
        taken = sum(self._take(bundle) for bundle in judged.bundles if self._is_new(bundle))
        following = after(self._feed, self._now)
        self._claim.let_go(
            last_look_at=self._now,
            last_error="",
            last_seen=len(listing.files) + len(listing.refused),
            last_taken=taken,
            next_look_at=min(following, self._now + SOON) if judged.settling else following,
        )
        return taken

    def _judge(self, listing: Listing) -> Judged:
        seen = {name: Seen(row.tag, row.since) for name, row in self._rows.items()}
        manifests = {
            file.name: parts
            for file in listing.files
            if manifest.is_manifest(file.name)
            and (self._place.appears_whole or completeness.has_settled(file, seen.get(file.name), self._now))
            and (parts := manifest.parts_of_manifest(self._read_whole(file)))
        }
        return completeness.judge(
            listing.files,
            seen,
            manifests,
            pattern=self._feed.pattern,
            appears_whole=self._place.appears_whole,
            now=self._now,
            folder_is_one=self._feed.folder_is_one and self._feed.source.meaning != Meaning.APPEND,
        )

    def _read_whole(self, file: Found) -> bytes:
        try:
            with self._place.open(file) as stream:
                return stream.read(MOST_OF_A_MANIFEST)
        except (ChangedError, ClosedError, OSError):
            return b""

    def _note(self, listing: Listing, judged: Judged) -> None:
        """Keep how each file stands; rows of files that went away untaken go too."""
        by_name = {file.name: file for file in listing.files}
        takeable = {file.name for bundle in judged.bundles for file in bundle.files}
        for name, reason in listing.refused.items():
            self._keep(name, tag="", size=0, state=FeedFile.State.REFUSED, reason=reason)
        for name in judged.settling - judged.waiting.keys() - judged.markers:
            self._keep_file(by_name[name], FeedFile.State.SETTLING)
        for name, reason in judged.waiting.items():
            self._keep_file(by_name[name], FeedFile.State.WAITING, reason)
        for name in judged.markers:
            self._keep_file(by_name[name], FeedFile.State.MARKER)
        shown = listing.refused.keys() | judged.settling | judged.waiting.keys() | judged.markers | takeable
        gone = [row.pk for name, row in self._rows.items() if name not in shown and row.delivery_id is None]
        FeedFile.objects.filter(pk__in=gone).delete()

    def _keep_file(self, file: Found, state: str, reason: str = "", delivery: Import | None = None) -> None:
        self._keep(file.name, tag=file.tag, size=file.size, state=state, reason=reason, delivery=delivery)

    def _keep(
        self, name: str, *, tag: str, size: int, state: str, reason: str = "", delivery: Import | None = None
    ) -> None:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = FeedFile(feed=self._feed, name=name, since=self._now)
        elif row.tag != tag:
            row.since = self._now
        elif (row.state, row.reason) == (state, reason) and delivery is None:
            return
        row.tag, row.size, row.state, row.reason, row.seen_at = tag, size, state, reason, self._now
        row.delivery = delivery or row.delivery
        row.save()

    def _is_new(self, bundle: Bundle) -> bool:
        """Was any of its files not delivered yet as it is now?"""
        ended = (FeedFile.State.TAKEN, FeedFile.State.KNOWN, FeedFile.State.REFUSED)
        return any(
            (row := self._rows.get(file.name)) is None or row.tag != file.tag or row.state not in ended
            for file in bundle.files
        )

    def _take(self, bundle: Bundle) -> int:
        """Keep the bytes; make a delivery of them unless this source had the same before."""
        try:
            kept = self._keep_bytes(bundle)
        except ChangedError:
            for file in bundle.files:
                self._keep_file(file, FeedFile.State.SETTLING)
            return 0
        except ClosedError as refusal:
            for file in bundle.files:
                self._keep_file(file, FeedFile.State.REFUSED, str(refusal))
            return 0
        self._claim.beat()
        with transaction.atomic():
            Feed.objects.select_for_update(no_key=True).get(pk=self._feed.pk)
            before = (
                self._feed.source.imports.filter(sha256=kept.sha256).exclude(status__in=OVER).order_by("-id").first()
            )
            delivery = before or usage.queue_kept(
                source=self._feed.source, by=None, name=name_of(bundle), kept=kept, now=timezone.now()
            )
            for file in bundle.files:
                self._keep_file(file, FeedFile.State.KNOWN if before else FeedFile.State.TAKEN, delivery=delivery)
        return 0 if before else 1

    def _keep_bytes(self, bundle: Bundle) -> files.KeptFile:
        if len(bundle.files) == 1:
            with self._place.open(bundle.files[0]) as stream:
                kept = files.keep(self._blocks(stream))
            self._check_whole(bundle.files[0], kept.size)
            return kept
        with tempfile.TemporaryFile(dir=files.ready_folder()) as packed:
            pack(((file.name, self._whole(file)) for file in bundle.files), packed)
            packed.seek(0)
            return files.keep(self._blocks(packed))

    def _whole(self, file: Found) -> Iterator[bytes]:
        """The blocks of a part, which must be as many bytes as were seen."""
        size = 0
        with self._place.open(file) as stream:
            for block in self._blocks(stream):
                size += len(block)
                yield block
        self._check_whole(file, size)

    def _check_whole(self, file: Found, size: int) -> None:
        if size != file.size:
            raise ChangedError

    def _blocks(self, stream: IO[bytes]) -> Iterator[bytes]:
        while block := stream.read(BLOCK):
            yield block
            self._claim.beat()


def name_of(bundle: Bundle) -> str:
    """What the delivery is called: the file, or the manifest's name as an archive."""
    last = bundle.name.rpartition("/")[2]
    return bundle.files[0].name if len(bundle.files) == 1 else f"{last.removesuffix('.json')}.zip"


def file_counts(feed: Feed) -> dict[str, int]:
    """How many files of a feed stand in each state."""
    found: dict[str, int] = {}
    for state in feed.files.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found
