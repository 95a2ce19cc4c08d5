"""Bodies of requests that are files, read as they come."""

from __future__ import annotations

from typing import IO, Any

from django.utils.translation import gettext_lazy
from rest_framework.exceptions import APIException
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser

from api.requests import SignedInRequest


class BodyParser(BaseParser):
    """Takes the body of a request as the file it is, unread."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return {"stream": stream}


class AlwaysJson(BaseContentNegotiation):
    """`?format=` of a push is the format of the file, not of the answer."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class LengthRequired(APIException):
    status_code = 411
    default_detail = gettext_lazy("This server takes no body of unknown length: send the file with its length.")


def body_of(request: SignedInRequest) -> IO[bytes]:
    """The body as it comes. Of a chunked one Django reads nothing: the server's own stream ends where it does."""
    meta = request._request.META
    if meta.get("HTTP_TRANSFER_ENCODING", "").lower() != "chunked":
        return request._request  # type: ignore[return-value]
    if meta.get("SERVER_SOFTWARE", "").startswith("WSGIServer"):
        raise LengthRequired  # Python's own server for developing hands on the chunks undecoded
    return meta["wsgi.input"]
