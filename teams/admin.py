"""Reference data of the organisation in the admin panel."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _

from .models import CostCentre, ExchangeRate, Membership, Organisation, OutboxMessage, Project, Team, User

admin.site.unregister(Group)  # people hold roles


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 1


@admin.register(User)
class PersonAdmin(UserAdmin):
    ordering = ["email"]
    list_display = ["email", "name", "is_active", "is_staff"]
    search_fields = ["email", "name"]
    list_filter = ["is_active", "is_staff", "memberships__role"]
    inlines = [MembershipInline]
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        (_("Person"), {"fields": ("name", "language", "theme")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser", "user_permissions")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "name", "password1", "password2")}),)


@admin.register(Organisation)
class OrganisationAdmin(admin.ModelAdmin):
    list_display = ["name", "currency", "time_zone"]

    def has_add_permission(self, request) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return False


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    list_display = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}
    inlines = [MembershipInline]


@admin.register(Project)
class ProjectAdmin(admin.ModelAdmin):
    list_display = ["name", "team", "currency", "task_type", "state"]
    list_filter = ["team", "state", "task_type"]
    search_fields = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}


@admin.register(CostCentre)
class CostCentreAdmin(admin.ModelAdmin):
    list_display = ["code", "name"]


@admin.register(ExchangeRate)
class ExchangeRateAdmin(admin.ModelAdmin):
    list_display = ["month", "base", "quote", "rate", "source"]
    list_filter = ["base", "quote"]


@admin.register(OutboxMessage)
class OutboxMessageAdmin(admin.ModelAdmin):
    list_display = ["created_at", "person", "kind", "project", "state", "attempts", "error"]
    list_filter = ["state"]

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False
