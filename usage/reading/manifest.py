"""Manifests of deliveries: which parts there are, and what the columns of parts without a header are called."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def is_manifest(name: str) -> bool:
    return name.lower().endswith("manifest.json")


def document(content: bytes) -> dict[str, Any]:
    """The object in a manifest; empty where there is none."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return whole if isinstance(whole, dict) else {}


def parts_of_manifest(content: bytes) -> dict[str, int | None]:
    """The files a manifest names, with their sizes where it says them; empty where it names none.

    Understood are `reportKeys` (AWS cost and usage reports), `dataFiles` (AWS data exports), `blobs` with `blobName`
    and `byteCount` (Azure exports), and `files`, a list of names or of objects with `name` or `key` (S3 inventories)
    and `size`.
    """
    whole = document(content)
    listed: Any = next((whole[key] for key in ("reportKeys", "dataFiles", "blobs", "files") if whole.get(key)), [])
    found: dict[str, int | None] = {}
    for item in listed if isinstance(listed, list) else []:
        name, size = named_part(item)
        if name:
            found[name] = size
    return found


def named_part(item: Any) -> tuple[str, int | None]:
    if isinstance(item, str):
        name, size = item, None
    elif isinstance(item, dict):
        name = str(item.get("blobName") or item.get("name") or item.get("key") or "")
        size = item.get("byteCount", item.get("size"))
    else:
        return "", None
    if "://" in name:
        name = name.partition("://")[2].partition("/")[2]
    return name.strip("/"), size if isinstance(size, int) and not isinstance(size, bool) else None


def names_of_columns(content: bytes) -> tuple[str, ...]:
    """The columns of CSV parts that have no header, in order, as the manifest of an S3 inventory names them.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html
    """
    whole = document(content)
    schema = whole.get("fileSchema")
    if str(whole.get("fileFormat", "")).upper() != "CSV" or not isinstance(schema, str):
        return ()
    return tuple(name.strip() for name in schema.split(","))


def in_manifest(names: Iterable[str], parts: Iterable[str]) -> tuple[set[str], list[str]]:
    """The files that are parts a manifest names, and the parts that no file is.

    A file is a part by the end of its longer key, packed or not.
    """
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(last_of(name), []).append(name)
    found: set[str] = set()
    lacking = []
    for part in parts:
        here = [name for name in by_last.get(last_of(part), []) if is_part(bare(name), bare(part))]
        found.update(here)
        if not here:
            lacking.append(part)
    return found, lacking


def bare(name: str) -> str:
    return name.removesuffix(".gz")


def last_of(name: str) -> str:
    return bare(name).rpartition("/")[2]


def is_part(name: str, part: str) -> bool:
    return part == name or part.endswith(f"/{name}") or name.endswith(f"/{part}")
