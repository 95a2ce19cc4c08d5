"""The API as a page to read: the OpenAPI document, turned into sections. Nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.generators import SchemaGenerator

from web.requests import PersonRequest

METHODS = ("get", "post", "put", "patch", "delete")
DEEP = 3
"""How far objects inside objects are spelled out."""
MANY = 12
"""So many choices of a value are listed."""


@dataclass(frozen=True)
class FieldRow:
    """A parameter or a key of a body; `depth` is how deep it lies."""

    name: str
    kind: str
    required: bool
    text: str
    depth: int = 0


@dataclass(frozen=True)
class Operation:
    """One thing the API does."""

    anchor: str
    method: str
    address: str
    summary: str
    text: str
    parameters: list[FieldRow]
    body: list[FieldRow]
    media: list[str]
    answers: list[tuple[str, str, list[FieldRow]]]
    example: str


@dataclass(frozen=True)
class Section:
    name: str
    operations: list[Operation]


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The OpenAPI document of this installation; it does not change while the process lives."""
    return SchemaGenerator().get_schema(request=None, public=True)


def sections() -> list[Section]:
    """The operations by the first word of their address, in the document's order."""
    found: dict[str, list[Operation]] = {}
    prefix = settings.SPECTACULAR_SETTINGS["SCHEMA_PATH_PREFIX"]
    for address, operations in document()["paths"].items():
        name = address.removeprefix(prefix).strip("/").split("/")[0]
        for method in METHODS:
            if method in operations:
                found.setdefault(name, []).append(operation(address, method, operations[method]))
    return [Section(name, listed) for name, listed in found.items()]


def operation(address: str, method: str, described: dict[str, Any]) -> Operation:
    bodies = described.get("requestBody", {}).get("content", {})
    text = described.get("description", "").strip()
    summary = described.get("summary", "") or text.partition("\n")[0].partition(". ")[0]
    body = schema_of(bodies)
    return Operation(
        anchor=described.get("operationId", f"{method}{address}"),
        method=method.upper(),
        address=address,
        summary=summary.rstrip("."),
        text="" if text.rstrip(".") == summary.rstrip(".") else text,
        parameters=[parameter(row) for row in described.get("parameters", [])],
        body=fields(body),
        media=list(bodies),
        answers=[answer(status, found) for status, found in described.get("responses", {}).items()],
        example=example(address, method, next(iter(bodies), ""), body),
    )


def parameter(row: dict[str, Any]) -> FieldRow:
    return FieldRow(
        row["name"], kind_of(row.get("schema", {})), row.get("required", False), in_words(row.get("description", ""))
    )


def answer(status: str, found: dict[str, Any]) -> tuple[str, str, list[FieldRow]]:
    return status, found.get("description", ""), fields(schema_of(found.get("content", {})))


def schema_of(content: dict[str, Any]) -> dict[str, Any]:
    """The shape of a body or an answer; that of its first media type where it has several."""
    for described in content.values():
        return described.get("schema", {})
    return {}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema itself where it is named by reference."""
    if "$ref" in schema:
        return document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if len(schema.get("allOf", [])) == 1:
        return {**resolved(schema["allOf"][0]), **{key: value for key, value in schema.items() if key != "allOf"}}
    return schema


def fields(schema: dict[str, Any], depth: int = 0) -> list[FieldRow]:
    """The keys of an object, those of objects inside after them."""
    whole = resolved(schema)
    if whole.get("type") == "array":
        return fields(whole.get("items", {}), depth)
    rows = []
    for name, described in whole.get("properties", {}).items():
        inner = resolved(described)
        text = described.get("description") or inner.get("description", "")
        rows.append(FieldRow(name, kind_of(described), name in whole.get("required", []), in_words(text), depth))
        if depth + 1 < DEEP:
            rows += fields(inner, depth + 1)
    return rows


def in_words(description: str) -> str:
    """Without the list of choices that the document repeats in every description; the type says them already."""
    return " ".join(line for line in description.splitlines() if line.strip() and not line.startswith("* `"))


def kind_of(schema: dict[str, Any]) -> str:
    """`string`, `list of objects`, `one of draft, submitted`."""
    whole = resolved(schema)
    options = whole.get("oneOf") or whole.get("anyOf")
    if options:
        return " | ".join(dict.fromkeys(kind_of(option) for option in options))
    if "enum" in whole:
        return choices_of(whole["enum"])
    if whole.get("type") == "array":
        return _("list of %(kind)s") % {"kind": kind_of(whole.get("items", {}))}
    kinds = whole.get("type", "any")
    text = " | ".join(kinds) if isinstance(kinds, list) else kinds
    return f"{text} ({whole['format']})" if "format" in whole else text


def choices_of(values: list[Any]) -> str:
    """The choices, or the first of very many."""
    shown = " | ".join(json.dumps(value) for value in values[:MANY])
    return (
        shown if len(values) <= MANY else _("%(shown)s … (%(count)s in all)") % {"shown": shown, "count": len(values)}
    )


def example(address: str, method: str, media: str, body: dict[str, Any]) -> str:
    """The call as a command line."""
    parts = [f"curl {settings.SITE_URL.rstrip('/')}{address}", '-H "Authorization: Bearer $TOKEN"']
    if method != "get":
        parts.insert(1, f"-X {method.upper()}")
    if media == "multipart/form-data":
        parts += [f"-F {row.name}=…" for row in fields(body) if row.required]
    elif media:
        keys = ", ".join(f'"{row.name}": …' for row in fields(body) if row.required and not row.depth)
        parts += [f'-H "Content-Type: {media}"', f"-d '{{{keys}}}'"]
    return " \\\n  ".join(parts)


@login_required
def api_docs(request: PersonRequest) -> HttpResponse:
    return render(
        request, "web/api_docs/api_docs.html", {"sections": sections(), "base": settings.SITE_URL.rstrip("/")}
    )


urlpatterns = [path("api/", api_docs, name="api-docs")]
