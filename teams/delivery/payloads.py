"""What a webhook is sent, in the form its reader understands, and signed. Pure.

JSON: the header `Headroom-Signature: v1=…` is the HMAC-SHA256, in hexadecimal, of the header `Headroom-Timestamp`, a
full stop and the body. Feishu: https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot (security settings,
signature). Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks (its address is secret).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Told:
    """What is told, in words and in facts."""

    number: int
    kind: str
    title: str
    text: str
    url: str
    project: Mapping[str, str] | None
    facts: Mapping[str, Any]
    at: str


@dataclass(frozen=True)
class Payload:
    body: bytes
    headers: Mapping[str, str]


def payload_for(form: str, told: Told, *, secret: str, timestamp: int, language: str) -> Payload:
    """The body and headers of one delivery."""
    if form == "slack":
        return Payload(as_bytes(slack(told)), CONTENT)
    if form == "feishu":
        return Payload(as_bytes(feishu(told, secret, timestamp, language)), CONTENT)
    body = as_bytes(generic(told))
    signature = {
        "Headroom-Delivery": str(told.number),
        "Headroom-Timestamp": str(timestamp),
        "Headroom-Signature": "v1=" + signature_of(secret, timestamp, body),
    }
    return Payload(body, {**CONTENT, **signature})


CONTENT = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Headroom"}


def as_bytes(words: Mapping[str, Any]) -> bytes:
    return json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode()


def generic(told: Told) -> dict[str, Any]:
    return {
        "id": told.number,
        "kind": told.kind,
        "at": told.at,
        "title": told.title,
        "text": told.text,
        "url": told.url,
        "project": told.project,
        "facts": told.facts,
    }


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over the timestamp, a full stop and the body, in hexadecimal."""
    return hmac.new(secret.encode(), str(timestamp).encode() + b"." + body, hashlib.sha256).hexdigest()


def slack(told: Told) -> dict[str, Any]:
    title, text = (escaped(words) for words in (told.title, told.text))
    return {"text": f"*<{told.url}|{title.replace('|', '¦')}>*\n{text}"}


def escaped(words: str) -> str:
    """The three signs that Slack reads as its own."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def feishu(told: Told, secret: str, timestamp: int, language: str) -> dict[str, Any]:
    line = [{"tag": "text", "text": told.text + " "}, {"tag": "a", "text": told.url, "href": told.url}]
    post = {"title": told.title, "content": [line]}
    words: dict[str, Any] = {
        "msg_type": "post",
        "content": {"post": {"zh_cn" if language.startswith("zh") else "en_us": post}},
    }
    if secret:
        key = f"{timestamp}\n{secret}".encode()
        words["timestamp"] = str(timestamp)
        words["sign"] = b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()
    return words


def refusal_of(form: str, status: int, body: bytes) -> str:
    """Why the other side did not take it; empty when it did. Feishu says no with status 200 and a code."""
    start = body[:200].decode(errors="replace")
    if not 200 <= status < 300:
        return f"HTTP {status}: {start}"
    if form == "feishu":
        try:
            answer = json.loads(body)
            code = answer.get("code", answer.get("StatusCode"))
        except (ValueError, AttributeError):
            return f"no answer of Feishu: {start}"
        return "" if code == 0 else start
    return ""
