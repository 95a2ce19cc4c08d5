"""What forms of several pages share: amounts, and refusals beside the fields they are about."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import DomainError
from core.money import parse_amount
from core.months import end_of_day
from teams.models import Organisation


class NumberField(forms.DecimalField):
    """A number of the digits 0-9; digits of other scripts are no numbers here, as in imports."""

    def to_python(self, value: Any) -> Decimal | None:  # type: ignore[override]
        if isinstance(value, str) and not value.isascii():
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


class FilesInput(forms.FileInput):
    """A choice of files, one or several."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One file or several, always as a list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        one = super().clean
        return [one(file, initial) for file in data] if isinstance(data, list) and data else [one(None, initial)]


class MoneyField(forms.DecimalField):
    """An amount in plain digits; thousands separators and blanks are understood."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("widget", forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}))
        options = {"max_digits": 28, "decimal_places": 4} | options
        super().__init__(**options)

    def to_python(self, value: Any) -> Decimal | None:  # type: ignore[override]
        if value in self.empty_values:
            return None
        text = str(value).strip().replace(",", "").replace(" ", "").replace("\u2212", "-")
        try:
            return parse_amount(text)
        except ValueError as error:
            raise ValidationError(_("Write an amount such as 12500.50.")) from error


class KnownOnField(forms.DateField):
    """The day at whose end something was known; empty: now."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("label", gettext_lazy("As known on"))
        options.setdefault("required", False)
        options.setdefault("widget", forms.DateInput(attrs={"type": "date"}))
        super().__init__(**options)


def day_of(text: str) -> date | None:
    """A day such as 2027-01-31 in an address; None for anything else."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def end_of(day: date) -> datetime:
    """The end of a day of the organisation, as a time of knowing."""
    return end_of_day(day, Organisation.current().zone)


def refuse(form: forms.Form, refused: DomainError) -> None:
    """The refusal beside the fields it names, else above the form."""
    for fault in refused.faults:
        words = f"{fault.message} ({fault.accepted})" if fault.accepted else fault.message
        form.add_error(fault.path if fault.path in form.fields else None, words)
    if not refused.faults or not any(fault.path in form.fields for fault in refused.faults):
        form.add_error(None, refused.message)
