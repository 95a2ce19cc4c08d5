"""Pages of lists: each begins where the one before it ended, by the key of a row."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from api.requests import SignedInRequest
from core.errors import DomainError, Fault
from core.keys import row_key

Row = TypeVar("Row", bound=Model)


def page_before(found: QuerySet[Row], request: SignedInRequest, length: int) -> tuple[list[Row], int | None]:
    """The newest rows, before the key that the caller names as `before`; and the key to name for the next page."""
    key = key_asked(request, "before")
    rows = found.order_by("-pk") if key is None else found.order_by("-pk").filter(pk__lt=key)
    return cut(rows, length)


def page_after(found: QuerySet[Row], request: SignedInRequest, length: int) -> tuple[list[Row], int | None]:
    """The oldest rows, after the key that the caller names as `after`."""
    key = key_asked(request, "after")
    rows = found.order_by("pk") if key is None else found.order_by("pk").filter(pk__gt=key)
    return cut(rows, length)


def cut(rows: QuerySet[Row], length: int) -> tuple[list[Row], int | None]:
    page = list(rows[: length + 1])
    return page[:length], page[length - 1].pk if len(page) > length else None


def key_asked(request: SignedInRequest, name: str) -> int | None:
    """None where it is not named; what is no key is refused, or a caller would read the first page for ever."""
    text = request.query_params.get(name, "")
    key = row_key(text)
    if text and key is None:
        raise DomainError(
            _("%(name)s names no row: pass what `next` said.") % {"name": name},
            faults=[Fault(name, text[:100], _("is no key"), _("a whole number"))],
        )
    return key
