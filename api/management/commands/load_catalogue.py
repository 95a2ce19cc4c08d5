"""Add the shipped catalogue of accelerators and prices. Safe to run again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import ngettext

from estimates import services


class Command(BaseCommand):
    help = "Add what the shipped catalogue of accelerators and prices has and the database lacks."

    def handle(self, *args: Any, **options: Any) -> None:
        added = services.load_catalogue()
        self.stdout.write(
            ngettext("%(count)s accelerator added", "%(count)s accelerators added", added["accelerators"])
            % {"count": added["accelerators"]}
            + ", "
            + ngettext("%(count)s price added", "%(count)s prices added", added["prices"]) % {"count": added["prices"]}
        )
