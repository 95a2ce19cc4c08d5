"""Accelerators and prices in the admin panel. Its saves go through the services; price rows are only added."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from core.errors import DomainError
from core.money import exact_text
from teams import permissions
from teams.models import User

from . import queries, services, tasks
from .models import Accelerator, Price
from .price_facts import PriceFacts, read_price


class KeepersAdmin(admin.ModelAdmin):
    """Everybody in the panel may look; price keepers may write; nobody deletes."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return isinstance(request.user, User) and permissions.may_keep_prices(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Accelerator)
class AcceleratorAdmin(KeepersAdmin):
    list_display = ["name", "vendor", "memory_gb", "bf16_tflops", "fp8_tflops", "board_w", "verification"]
    list_filter = ["vendor", "verification"]
    search_fields = ["name", "slug", "vendor", "aliases"]
    prepopulated_fields = {"slug": ["name"]}
    fieldsets = (
        (None, {"fields": ("name", "slug", "aliases", "vendor", "launched_in")}),
        (_("Memory"), {"fields": ("memory_gb", "bandwidth_gbs", "interconnect_gbs")}),
        (
            _("Dense peak"),
            {
                "fields": (
                    "fp32_tflops",
                    "tf32_tflops",
                    "bf16_tflops",
                    "fp16_tflops",
                    "fp8_tflops",
                    "int8_tops",
                    "fp4_tflops",
                ),
                "description": _("Without sparsity. Leave empty what is not known."),
            },
        ),
        (_("Power"), {"fields": ("board_w",)}),
        (_("Delivery"), {"fields": ("lead_time_days", "lead_time_source")}),
        (_("Source"), {"fields": ("source", "verification", "note")}),
    )

    def save_model(self, request: HttpRequest, obj: Accelerator, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        services.save_accelerator(obj, by=request.user)
        tasks.recompute_soon()


class PriceForm(ModelForm):
    """A new price row. What the service would refuse is said beside the field."""

    class Meta:
        model = Price
        fields = [
            "kind",
            "item",
            "provider",
            "region",
            "mode",
            "amount",
            "currency",
            "valid_from",
            "source",
            "verification",
            "withdrawn",
            "reason",
            "note",
        ]

    facts: PriceFacts | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        cells = {name: str(value) for name, value in cleaned.items() if name != "withdrawn"}
        try:
            facts = read_price({**cells, "withdrawn": "yes" if cleaned["withdrawn"] else "no"})
        except DomainError as refused:
            self.say(refused)
            return cleaned
        self.facts = queries.with_known_items([facts])[0]
        change = queries.price_changes([self.facts])[0]
        if change.kind == "unchanged":
            self.add_error(None, _("This price is already in the list; nothing changes."))
        elif fault := queries.missing_reason(change):
            self.add_error("reason", f"{fault.message} ({fault.accepted})")
        return cleaned

    def say(self, refused: DomainError) -> None:
        for fault in refused.faults:
            self.add_error(fault.path if fault.path in self.fields else None, f"{fault.message} ({fault.accepted})")


@admin.register(Price)
class PriceAdmin(KeepersAdmin):
    form = PriceForm
    list_display = ["item", "kind", "offered_by", "mode", "price", "valid_from", "verification", "withdrawn"]
    list_filter = ["kind", "mode", "verification", "withdrawn", "provider"]
    search_fields = ["item", "provider", "region", "source", "note"]
    date_hierarchy = "valid_from"
    ordering = ["-id"]
    list_per_page = 50
    change_list_template = "admin/estimates/price/change_list.html"
    fieldsets = (
        (_("What"), {"fields": ("kind", "item", "provider", "region", "mode")}),
        (_("Price"), {"fields": ("amount", "currency", "valid_from")}),
        (_("How far it can be trusted"), {"fields": ("source", "verification", "note")}),
        (
            _("Correction or withdrawal"),
            {
                "fields": ("withdrawn", "reason"),
                "description": _("An earlier row is never changed: this row takes its place, and says why."),
            },
        ),
    )

    @admin.display(description=_("provider"), ordering="provider")
    def offered_by(self, row: Price) -> str:
        return " · ".join(part for part in (row.provider, row.region) if part)

    @admin.display(description=_("price"), ordering="amount")
    def price(self, row: Price) -> str:
        return f"{exact_text(row.amount)} {row.currency}/{row.get_unit_display()}"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Price, form: Any, change: bool) -> None:
        assert isinstance(request.user, User) and form.facts is not None
        obj.pk = services.add_prices([form.facts], by=request.user)[0].pk
        tasks.recompute_soon()
