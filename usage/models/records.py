"""What was used, row by row, and what rows share.

A row of a bill is kept in two parts. What many rows share (account, service, SKU, resource, tags) is a `KeySet`,
stored once; what differs (time, quantity, cost) is a `Record`. Rules place key sets, not rows, so that a rule
over millions of rows is evaluated on the distinct few.
"""

from __future__ import annotations

from datetime import timedelta

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.lookups import GreaterThan
from django.utils.translation import gettext_lazy as _

from teams import labels

from ..fields import ExactNumericField
from .imports import Import, Scope
from .sources import Source

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
CHARGE_CATEGORY_CHOICES = labels.choices(labels.CHARGE_CATEGORIES)


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
            models.Index(
                fields=["job"], condition=Q(known_until__isnull=True) & ~Q(job=""), name="live_records_of_a_job"
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
