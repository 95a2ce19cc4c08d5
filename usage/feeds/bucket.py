"""A prefix of an object store that speaks S3: listed and read with signed requests, nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from xml.etree import ElementTree

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError

from .places import LONGEST_NAME, MOST_FILES, ChangedError, ClosedError, Found, Listing, path_below
from .signing import Keys, encoded_query, signed_headers

SECONDS = 60
MOST_ANSWER = 8 << 20
ROOT = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,62})(?:/(?P<prefix>.*))?")


class NoRedirect(HTTPRedirectHandler):
    """A redirect is an error: credentials go to the configured endpoint alone."""

    def redirect_request(self, *args: Any, **options: Any) -> None:
        return None


OPENER = build_opener(NoRedirect)


@dataclass(frozen=True)
class Store:
    """The configured bucket, the prefix that is the root, and how it is reached."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    addressing: str
    keys: Keys

    @property
    def base(self) -> str:
        scheme, host = urlsplit(self.endpoint)[:2]
        return f"{scheme}://{self.bucket}.{host}" if self.addressing == "virtual" else self.endpoint

    def path_of(self, key: str) -> str:
        inside = "/" + quote(key, safe="/~")
        return inside if self.addressing == "virtual" else f"/{self.bucket}{inside}"


def configured_store() -> Store:
    """The store of the settings; a refusal that says what is missing."""
    found = ROOT.fullmatch(settings.BUCKET_ROOT)
    if found is None:
        raise DomainError(_("HEADROOM_BUCKET_ROOT must be written s3://BUCKET/PREFIX."))
    endpoint = settings.BUCKET_ENDPOINT.rstrip("/") or f"https://s3.{settings.BUCKET_REGION}.amazonaws.com"
    if urlsplit(endpoint).scheme not in ("http", "https") or not urlsplit(endpoint).netloc or urlsplit(endpoint).path:
        raise DomainError(_("HEADROOM_BUCKET_ENDPOINT must be written https://HOST."))
    if not settings.BUCKET_KEY_ID or not settings.BUCKET_SECRET:
        raise DomainError(_("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set where the workers run."))
    return Store(
        bucket=found["bucket"],
        prefix="".join(f"{part}/" for part in path_below(found["prefix"] or "")),
        endpoint=endpoint,
        region=settings.BUCKET_REGION,
        addressing=settings.BUCKET_ADDRESSING,
        keys=Keys(settings.BUCKET_KEY_ID, settings.BUCKET_SECRET, settings.BUCKET_SESSION_TOKEN),
    )


class Bucket:
    """A prefix below the root. Objects appear whole, so one that is seen is complete."""

    appears_whole = True

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self._prefix = store.prefix + "".join(f"{part}/" for part in path_below(path))

    def look(self) -> Listing:
        found, following = Listing([], {}), ""
        while True:
            page = self._page(following)
            for item in page.iterfind("{*}Contents"):
                self._take_in(item, found)
            if len(found.files) > MOST_FILES:
                raise DomainError(
                    _("There are more than %(most)s files. Watch a folder of fewer.") % {"most": MOST_FILES}
                )
            following = text_of(page, "NextContinuationToken")
            if text_of(page, "IsTruncated") != "true" or not following:
                return found

    def open(self, file: Found) -> IO[bytes]:
        path = self._store.path_of(self._prefix + file.name)
        try:
            return self._get(path, "", {"If-Match": f'"{file.tag}"'})
        except HTTPError as error:
            if error.code in (404, 412):
                raise ChangedError from None
            raise ClosedError(said_by(error)) from None

    def _page(self, following: str) -> ElementTree.Element:
        query = {"list-type": "2", "prefix": self._prefix, "encoding-type": "url"}
        if following:
            query["continuation-token"] = following
        try:
            with self._get(self._store.path_of(""), encoded_query(query), {}) as answer:
                return ElementTree.fromstring(answer.read(MOST_ANSWER))
        except HTTPError as error:
            raise DomainError(_("The store refuses to list: %(said)s") % {"said": said_by(error)}) from None
        except ElementTree.ParseError:
            raise DomainError(_("The answer of the store is no listing of S3.")) from None

    def _take_in(self, item: ElementTree.Element, found: Listing) -> None:
        key = unquote(text_of(item, "Key").replace("+", " "))
        name = key.removeprefix(self._prefix)
        if not name or name.endswith("/") or not key.startswith(self._prefix):
            return
        if len(name) > LONGEST_NAME or not name.isprintable():
            shown = name.encode("ascii", "backslashreplace").decode()[:LONGEST_NAME]
            found.refused[shown] = _("has a name that cannot be used")
            return
        modified = datetime.fromisoformat(text_of(item, "LastModified"))
        found.files.append(Found(name, int(text_of(item, "Size")), text_of(item, "ETag").strip('"'), modified))

    def _get(self, path: str, query: str, headers: Mapping[str, str]) -> IO[bytes]:
        store = self._store
        signed = signed_headers(
            host=urlsplit(store.base).netloc,
            path=path,
            query=query,
            headers=headers,
            region=store.region,
            keys=store.keys,
            now=timezone.now(),
        )
        address = f"{store.base}{path}" + (f"?{query}" if query else "")
        try:
            return OPENER.open(Request(address, headers=signed), timeout=SECONDS)
        except HTTPError:
            raise
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise DomainError(_("The store does not answer: %(error)s") % {"error": reason}) from None


def text_of(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def said_by(error: HTTPError) -> str:
    """What the store answered, in one line."""
    try:
        answer = ElementTree.fromstring(error.read(MOST_ANSWER))
        return f"{error.code} {text_of(answer, 'Code')} {text_of(answer, 'Message')}".strip()[:300]
    except (ElementTree.ParseError, OSError):
        return f"{error.code} {error.reason}"[:300]
