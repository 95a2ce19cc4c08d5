"""What was used and what it cost: where it comes from, every delivery, every row, and where each row belongs.

A row of a bill is kept in two parts. What many rows share (account, service, SKU, resource, tags) is a `KeySet`,
stored once; what differs (time, quantity, cost) is a `Record`. Rules place key sets, not rows, so that a rule
over millions of rows is evaluated on the distinct few.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now
from django.db.models.lookups import GreaterThan
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from teams import labels, permissions
from teams.models import Project, User

from .fields import ExactNumericField
from .runs.models import Run, RunMetric  # noqa: F401  (Django looks for models here)

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
TASK_TYPE_CHOICES = labels.choices(labels.TASK_TYPES)
CHARGE_CATEGORY_CHOICES = labels.choices(labels.CHARGE_CATEGORIES)


class Money(models.TextChoices):
    """Where the money of a source's rows comes from."""

    OWN = "own", _("Its own costs")
    RATE_CARD = "rate_card", _("The price table of the day")
    NONE = "none", _("None: quantities only")


class Meaning(models.TextChoices):
    """What a delivery does to what was delivered before."""

    STATEMENT = "statement", _("Statement: replaces the periods it covers")
    LOG = "log", _("Log: a row replaces the row with the same key")
    APPEND = "append", _("Append: rows add")


class SourceQuerySet(models.QuerySet["Source"]):
    def visible_to(self, user: User | AnonymousUser) -> SourceQuerySet:
        """Sources are the organisation's: for a role in the whole of it, and for who delivers usage."""
        may = user.is_authenticated and (permissions.may_see_all_usage(user) or permissions.may_import_usage(user))
        return self if may else self.none()


class Source(models.Model):
    """One feed of usage: a cloud bill export, the job log of a cluster, a cost allocator.

    Format, money and meaning may be left empty: the first delivery shows them.
    """

    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    name = models.CharField(_("name"), max_length=120)
    format = models.CharField(_("format"), max_length=40, blank=True, help_text=_("Empty: found out by content."))
    money = models.CharField(_("money"), max_length=10, choices=Money.choices, blank=True)
    meaning = models.CharField(_("meaning of a delivery"), max_length=10, choices=Meaning.choices, blank=True)
    part_of = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="parts", verbose_name=_("splits the money of")
    )
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    silent_after_hours = models.PositiveIntegerField(_("expected at least every (hours)"), null=True, blank=True)
    changes = models.PositiveBigIntegerField(default=0, editable=False, help_text=_("How often its rows changed."))
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    objects = SourceQuerySet.as_manager()

    class Meta:
        verbose_name = pgettext_lazy("of usage", "source")
        verbose_name_plural = _("sources")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(part_of__isnull=True) | ~Q(part_of=F("id")), name="a_source_is_no_part_of_itself"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def bears_money(self) -> bool:
        """Its cost counts in the whole; a part of another source only splits that one's."""
        return self.money != Money.NONE and self.part_of_id is None


class ImportQuerySet(models.QuerySet["Import"]):
    def visible_to(self, user: User | AnonymousUser) -> ImportQuerySet:
        return self.filter(source__in=Source.objects.visible_to(user))

    def open(self) -> ImportQuerySet:
        """Not yet ended, one way or the other."""
        return self.filter(status__in=[Import.Status.QUEUED, Import.Status.RUNNING])

    def applied(self) -> ImportQuerySet:
        """Those whose rows were made visible, in order."""
        return self.filter(live_at__isnull=False).order_by("live_at", "id")


class Import(models.Model):
    """One delivery of a source: the file as it came, what was read of it, and what became of it."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        LIVE = "live", _("live")
        UNCHANGED = "unchanged", _("unchanged")
        WAITING = "waiting", _("waits for a person")
        STORED = "stored", _("stored, not activated")
        REFUSED = "refused", _("refused")
        CANCELLED = "cancelled", _("cancelled")
        FAILED = "failed", _("failed")

    source = models.ForeignKey(
        Source, models.PROTECT, related_name="imports", verbose_name=pgettext_lazy("of usage", "source")
    )
    name = models.CharField(_("file name"), max_length=255)
    sha256 = models.CharField(max_length=64, db_index=True, help_text=_("Of the file as it came."))
    content_sha256 = models.CharField(max_length=64, blank=True, help_text=_("Of the text after unpacking."))
    size = models.PositiveBigIntegerField(_("bytes"))
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    format = models.CharField(_("format"), max_length=40, blank=True)
    format_reason = models.TextField(blank=True)
    meaning = models.CharField(max_length=10, choices=Meaning.choices, blank=True)
    reading = models.CharField(max_length=32, blank=True, help_text=_("Digest of header, settings and reader."))
    idempotency_key = models.CharField(max_length=120, blank=True)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.QUEUED)
    received_at = models.DateTimeField(_("received"))
    received_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    issued_at = models.DateTimeField(_("issued"), null=True)
    confirmed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    confirmed_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    live_at = models.DateTimeField(null=True, help_text=_("When its rows became visible."))
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    phase = models.CharField(max_length=20, blank=True)
    bytes_read = models.PositiveBigIntegerField(default=0)
    rows_read = models.PositiveBigIntegerField(default=0)
    rows_rejected = models.PositiveBigIntegerField(default=0)
    outcome = models.JSONField(default=dict)

    objects = ImportQuerySet.as_manager()

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["source", "-id"], name="imports_of_a_source"),
            models.Index(fields=["lease_until"], condition=Q(status__in=["queued", "running"]), name="open_imports"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "idempotency_key"], condition=~Q(idempotency_key=""), name="one_import_per_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.source.slug} #{self.pk} {self.name}"

    @property
    def ordered_by(self) -> datetime:
        """Which of two deliveries of a statement is the newer one: its issue time, else its receipt."""
        return self.issued_at or self.received_at


class Scope(models.Model):
    """What one statement replaces as a whole: an account's bill of one month, a cluster's log."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        PROVISIONAL = "provisional", _("provisional")
        FINAL = "final", _("final")
        REOPENED = "reopened", _("reopened")

    source = models.ForeignKey(Source, models.CASCADE, related_name="scopes")
    key = models.CharField(max_length=500)
    payer = models.CharField(max_length=200, blank=True)
    issuer = models.CharField(max_length=200, blank=True)
    month = models.DateField(null=True, help_text=_("First day of the billing month; empty for a log."))
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    live = models.ForeignKey(Import, models.PROTECT, null=True, related_name="live_scopes")
    issued_at = models.DateTimeField(null=True, help_text=_("Of the live delivery; an older one is not activated."))

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        constraints = [models.UniqueConstraint(fields=["source", "key"], name="one_scope_per_key")]

    def __str__(self) -> str:
        return self.key


class Meter(models.Model):
    """What the rollup tells apart: one account's use of one SKU in one region, as a source reports it."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="meters")
    digest = models.UUIDField()
    provider = models.CharField(max_length=200, blank=True)
    payer = models.CharField(max_length=200, blank=True)
    account = models.CharField(max_length=300, blank=True)
    account_name = models.CharField(max_length=300, blank=True)
    service = models.CharField(max_length=300, blank=True)
    sku = models.CharField(max_length=300, blank=True)
    region = models.CharField(max_length=120, blank=True)
    accelerator = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=60, blank=True)
    charge_category = models.CharField(max_length=12, choices=CHARGE_CATEGORY_CHOICES)
    unit = models.CharField(max_length=120, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "digest"], name="one_meter_per_digest")]

    def __str__(self) -> str:
        return " · ".join(part for part in (self.account, self.service, self.sku, self.region) if part)


class KeySet(models.Model):
    """The distinct combination of keys that rows of a source share. Allocation rules look at nothing else."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="key_sets")
    digest = models.UUIDField()
    meter = models.ForeignKey(Meter, models.PROTECT, related_name="key_sets")
    resource = models.TextField(blank=True)
    resource_name = models.TextField(blank=True)
    resource_type = models.TextField(blank=True)
    user = models.CharField(max_length=200, blank=True)
    partition = models.CharField(max_length=200, blank=True)
    cluster = models.CharField(max_length=200, blank=True)
    namespace = models.CharField(max_length=300, blank=True)
    pod = models.CharField(max_length=300, blank=True)
    publisher = models.CharField(max_length=200, blank=True)
    issuer = models.CharField(max_length=200, blank=True)
    service_category = models.CharField(max_length=120, blank=True)
    is_correction = models.BooleanField(default=False)
    accelerator_count = ExactNumericField(null=True)
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES, help_text=_("Where no rule says otherwise."))
    reference = models.CharField(max_length=60, blank=True, help_text=_("Value of the tag headroom_proposal."))
    tags = models.JSONField(default=dict)
    extra = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "digest"], name="one_key_set_per_digest")]
        indexes = [models.Index(fields=["meter"], name="key_sets_of_a_meter")]

    def __str__(self) -> str:
        return self.resource or str(self.meter)


class Record(models.Model):
    """One row of usage as it was known from one import until another replaced it. Never edited, only ended.

    Its foreign keys have no database constraint: rows arrive by the million inside the transaction that holds
    what they point at, and checking each would cost a third of the import.
    """

    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    key_set = models.ForeignKey(KeySet, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="records")
    known_from = models.ForeignKey(Import, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    known_until = models.ForeignKey(
        Import, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    text_print = models.UUIDField(help_text=_("Of the record's text in the file."))
    row_print = models.UUIDField(help_text=_("Of the row as it was read."))
    row_key = models.UUIDField(null=True, help_text=_("Of a log: what one row is known by."))
    line = models.PositiveIntegerField()
    usage_start = models.DateTimeField()
    usage_end = models.DateTimeField()
    billing_month = models.DateField()
    currency = models.CharField(max_length=3, blank=True)
    billed = ExactNumericField(null=True)
    effective = ExactNumericField(null=True)
    list_cost = ExactNumericField(null=True)
    contracted = ExactNumericField(null=True)
    quantity = ExactNumericField(null=True)
    accelerator_hours = ExactNumericField(null=True)
    cpu_core_hours = ExactNumericField(null=True)
    rank = models.BigIntegerField(null=True, help_text=_("Of a log: seconds elapsed, ended jobs over open ones."))
    issued_at = models.DateTimeField(null=True, help_text=_("Of a log: when the newest delivery that holds it was."))
    provisional = models.BooleanField(default=False)
    job = models.TextField(blank=True)
    extra = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["key_set", "usage_start"], name="records_of_a_key_set"),
            models.Index(fields=["scope"], condition=Q(known_until__isnull=True), name="live_records_of_a_scope"),
            models.Index(fields=["known_until"], condition=Q(known_until__isnull=False), name="ended_records"),
            models.Index(
                fields=["key_set"],
                condition=Q(known_until__isnull=True)  # type: ignore[arg-type]
                & GreaterThan(F("usage_end") - F("usage_start"), Value(timedelta(hours=24))),
                name="long_records_of_a_key_set",
            ),
            BrinIndex(fields=["usage_start"], name="records_by_time", pages_per_range=32),
            BrinIndex(fields=["known_from"], name="records_of_an_import", pages_per_range=32),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["row_key"],
                condition=Q(known_until__isnull=True, row_key__isnull=False),
                name="one_live_record_per_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.usage_start:%Y-%m-%d %H:%M} {self.key_set_id}"


class RejectedRow(models.Model):
    """A row that was not taken: where it stands in the file, what is wrong with it."""

    delivery = models.ForeignKey(Import, models.CASCADE, related_name="rejected_rows")
    line = models.PositiveIntegerField(_("line"))
    column = models.CharField(_("column"), max_length=200, blank=True)
    value = models.TextField(_("value"), blank=True)
    reason = models.TextField(_("reason"))
    text = models.TextField(blank=True)

    class Meta:
        verbose_name = _("rejected row")
        verbose_name_plural = _("rejected rows")
        ordering = ["line", "id"]
        indexes = [models.Index(fields=["delivery", "line"], name="rejected_rows_of_an_import")]

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class AllocationRule(models.Model):
    """Which usage belongs to which project. The first rule that matches a key set on a day places it."""

    position = models.PositiveIntegerField(_("position"))
    name = models.CharField(_("name"), max_length=120)
    source = models.ForeignKey(Source, models.CASCADE, null=True, blank=True, verbose_name=_("only of the source"))
    conditions = models.JSONField(_("conditions"), default=list)
    starts_on = models.DateField(_("from"), null=True, blank=True)
    ends_on = models.DateField(_("until"), null=True, blank=True)
    project = models.ForeignKey(Project, models.PROTECT, null=True, blank=True, verbose_name=_("project"))
    is_shared = models.BooleanField(_("shared cost"), default=False)
    category = models.CharField(_("category"), max_length=20, choices=CATEGORY_CHOICES, blank=True)
    task_type = models.CharField(_("task type"), max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(_("stage"), max_length=60, blank=True)
    experiment = models.CharField(_("experiment"), max_length=120, blank=True)
    reference = models.CharField(_("proposal"), max_length=60, blank=True)
    reason = models.TextField(_("reason"), blank=True)
    active = models.BooleanField(_("active"), default=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("allocation rule")
        verbose_name_plural = _("allocation rules")
        ordering = ["position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(starts_on__isnull=True) | Q(ends_on__gt=F("starts_on")),
                name="rule_ends_after_it_starts",
            ),
            models.CheckConstraint(
                condition=Q(project__isnull=True) | Q(is_shared=False), name="a_project_or_shared_not_both"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AllocationShare(models.Model):
    """A rule that splits: one project's weight in what the rule matches."""

    rule = models.ForeignKey(AllocationRule, models.CASCADE, related_name="shares")
    project = models.ForeignKey(Project, models.PROTECT, related_name="+")
    weight = ExactNumericField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "project"], name="one_share_per_project")]

    def __str__(self) -> str:
        return f"{self.project} {self.weight}"


class Placement(models.Model):
    """Where a key set's usage of some days belongs, and which rule says so; as it was known for a time.

    The shares of one key set on one day add up to exactly 1, so that parts add up to the whole.
    """

    key_set = models.ForeignKey(KeySet, models.CASCADE, related_name="placements")
    starts_on = models.DateField()
    ends_on = models.DateField()
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="+")
    is_shared = models.BooleanField(default=False)
    share = ExactNumericField(default=1)
    is_first = models.BooleanField(default=True, help_text=_("Of several shares the one that counts the row."))
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES)
    task_type = models.CharField(max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(max_length=60, blank=True)
    experiment = models.CharField(max_length=120, blank=True)
    reference = models.CharField(max_length=60, blank=True)
    rule = models.ForeignKey(AllocationRule, models.SET_NULL, null=True, related_name="+")
    known_from = models.DateTimeField()
    known_until = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["key_set"], condition=Q(known_until__isnull=True), name="placements_now"),
            models.Index(fields=["key_set", "known_from"], name="placements_of_a_key_set"),
        ]

    def __str__(self) -> str:
        return f"{self.key_set_id} → {self.project_id}"


class DailyUsage(models.Model):
    """The rollup pages read: live records by meter, place and local day. Rebuilt for what was touched."""

    meter = models.ForeignKey(Meter, models.CASCADE, related_name="+")
    day = models.DateField()
    billing_month = models.DateField()
    currency = models.CharField(max_length=3, blank=True)
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="+")
    is_shared = models.BooleanField(default=False)
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES)
    task_type = models.CharField(max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(max_length=60, blank=True)
    reference = models.CharField(max_length=60, blank=True)
    is_tagged = models.BooleanField(default=True)
    rows = models.BigIntegerField()
    billed = ExactNumericField()
    effective = ExactNumericField()
    list_cost = ExactNumericField()
    contracted = ExactNumericField()
    quantity = ExactNumericField()
    accelerator_hours = ExactNumericField()
    cpu_core_hours = ExactNumericField()

    class Meta:
        indexes = [
            models.Index(fields=["meter", "day"], name="daily_usage_of_a_meter"),
            models.Index(fields=["project", "category", "day"], name="daily_usage_of_a_project"),
            models.Index(fields=["day"], name="daily_usage_by_day"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.meter_id}"


class Touched(models.Model):
    """Money of this project, category and month moved: whoever judges budget lines takes the row away.

    Rows may repeat. One that is already there must not be shared by a later import, or it could be taken before
    that import can be seen.
    """

    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES)
    month = models.DateField()
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.project_id} {self.category} {self.month}"
