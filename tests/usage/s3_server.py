"""A small server that speaks S3 over real HTTP: it checks every signature from what arrived, and pages its listing."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit
from xml.sax.saxutils import escape

KEY_ID, SECRET, BUCKET, ON_A_PAGE = "TESTKEY", "test-secret/+", "lab-bills", 2


class Store(ThreadingHTTPServer):
    objects: dict[str, bytes]
    asked: list[str]
    closed: set[str]
    redirects_to = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Store

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.redirects_to:
            self.send_response(307)
            self.send_header("Location", self.server.redirects_to)
            self.end_headers()
        elif not self.is_signed():
            self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>")
        elif "list-type=2" in self.path:
            self.list()
        else:
            self.read()

    def is_signed(self) -> bool:
        given = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
            r"SignedHeaders=([^,]+), Signature=(\w+)",
            self.headers.get("Authorization", ""),
        )
        if not given or given[1] != KEY_ID or "host" not in given[4].split(";"):
            return False
        path, _mark, query = self.path.partition("?")
        ordered = "&".join(sorted(query.split("&"))) if query else ""
        headers = "".join(f"{name}:{self.headers[name].strip()}\n" for name in given[4].split(";"))
        canonical = f"GET\n{path}\n{ordered}\n{headers}\n{given[4]}\n{self.headers['x-amz-content-sha256']}"
        to_sign = (
            f"AWS4-HMAC-SHA256\n{self.headers['x-amz-date']}\n{given[2]}/{given[3]}/s3/aws4_request\n"
            + hashlib.sha256(canonical.encode()).hexdigest()
        )
        key = ("AWS4" + SECRET).encode()
        for part in (given[2], given[3], "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return hmac.compare_digest(hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest(), given[5])

    def list(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        prefix, begin = query["prefix"][0], int(query.get("continuation-token", ["0"])[0])
        keys = [key for key in sorted(self.server.objects) if key.startswith(prefix)]
        page, rest = keys[begin : begin + ON_A_PAGE], keys[begin + ON_A_PAGE :]
        items = "".join(
            f"<Contents><Key>{escape(quote(key, safe='/').replace('%20', '+'))}</Key>"
            f"<LastModified>2026-03-0{index + 1}T08:00:00.000Z</LastModified>"
            f"<ETag>&quot;{etag(self.server.objects[key])}&quot;</ETag><Size>{len(self.server.objects[key])}</Size>"
            "</Contents>"
            for index, key in enumerate(page)
        )
        more = f"<NextContinuationToken>{begin + ON_A_PAGE}</NextContinuationToken>" if rest else ""
        self.answer(
            200,
            f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>{more}{items}</ListBucketResult>".encode(),
        )

    def read(self) -> None:
        key = next((key for key in self.server.objects if self.path == f"/{BUCKET}/{quote(key, safe='/~')}"), None)
        if key is None:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        elif key in self.server.closed:
            self.answer(403, b"<Error><Code>InvalidObjectState</Code><Message>archived</Message></Error>")
        elif self.headers["If-Match"] != f'"{etag(self.server.objects[key])}"':
            self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self.answer(200, self.server.objects[key])

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def etag(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@contextmanager
def serving() -> Iterator[Store]:
    server = Store(("127.0.0.1", 0), Handler)
    server.objects, server.asked, server.closed = {}, [], set()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
