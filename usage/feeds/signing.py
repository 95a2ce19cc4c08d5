"""Signature version 4 of the S3 protocol, for requests without a body.

Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header".
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

NOTHING = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Keys:
    """What a request is signed with."""

    key_id: str
    secret: str
    session_token: str = ""


def encoded_query(query: Mapping[str, str]) -> str:
    """The query in the order and the spelling that is signed, and sent."""
    return "&".join(f"{quote(name, safe='')}={quote(query[name], safe='')}" for name in sorted(query))


def signed_headers(
    *, host: str, path: str, query: str, headers: Mapping[str, str], region: str, keys: Keys, now: datetime
) -> dict[str, str]:
    """The headers of a GET with its signature. `path` and `query` are encoded; `now` is in UTC."""
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    given = {**headers, "Host": host, "x-amz-content-sha256": NOTHING, "x-amz-date": stamp}
    if keys.session_token:
        given["x-amz-security-token"] = keys.session_token
    lowered = {name.lower(): value.strip() for name, value in given.items()}
    names = ";".join(sorted(lowered))
    lines = "".join(f"{name}:{lowered[name]}\n" for name in sorted(lowered))
    request = "\n".join(["GET", path, query, lines, names, NOTHING])
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{keys.secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"AWS4-HMAC-SHA256 Credential={keys.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**given, "Authorization": credential}
