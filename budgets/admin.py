"""The amount matrix, delegations and, to look at, the ledger, in the admin panel."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from .models import ApprovalRule, BudgetLine, Delegation, Entry


@admin.register(ApprovalRule)
class ApprovalRuleAdmin(admin.ModelAdmin):
    list_display = ["step", "role", "above", "up_to", "task_type", "category", "deadline_days", "active"]
    list_filter = ["role", "task_type", "category", "active"]
    ordering = ["step", "above"]


@admin.register(Delegation)
class DelegationAdmin(admin.ModelAdmin):
    list_display = ["giver", "receiver", "role", "team", "starts_on", "ends_on"]
    list_filter = ["role", "team"]
    autocomplete_fields = ["giver", "receiver"]


@admin.register(BudgetLine)
class BudgetLineAdmin(admin.ModelAdmin):
    """To look up; money moves on the pages, where every movement says why."""

    list_display = ["project", "category", "task_type", "start", "end", "currency", "basis"]
    list_filter = ["category", "period_kind", "project__team"]
    search_fields = ["project__name", "project__slug"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Entry)
class EntryAdmin(admin.ModelAdmin):
    """The ledger as it is: nothing can be changed, here or anywhere."""

    list_display = ["at", "line", "kind", "amount", "proposal", "by", "reason"]
    list_filter = ["kind", "line__category"]
    list_select_related = ["line", "proposal", "by"]
    date_hierarchy = "at"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
