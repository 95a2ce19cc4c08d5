"""What the register says to the rate card: which cards a partition hands out, and how they were acquired."""

from __future__ import annotations

from dataclasses import replace

from ..delivery import Settings
from ..models import ClusterPartition, Source


def with_register(settings: Settings, source: Source) -> Settings:
    """Settings whose rate card also knows the partitions of the register; what the source's own names goes first."""
    return replace(settings, rate_card={**offers_of(source), **settings.rate_card})


def offers_of(source: Source) -> dict[str, str]:
    """Partitions in the register as a rate card names them: `h100-sxm-80gb/own`."""
    rows = ClusterPartition.objects.filter(cluster__source=source).select_related("cluster", "accelerator")
    return {
        row.name: "/".join([row.accelerator.slug, row.mode, row.cluster.provider, row.cluster.region]).rstrip("/")
        for row in rows.order_by("pk")
    }
