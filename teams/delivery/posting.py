"""One POST to an address outside: no redirects, limits of time and size, the name checked against the certificate."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Timer

from .addresses import address_of, target_of

SECONDS_TO_CONNECT = 5
SECONDS = 10
MOST_ANSWER = 4096


class NotAccepted(OSError):
    """The other side answered, and did not take it."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


class PinnedConnection(http.client.HTTPConnection):
    """Speaks to an address, with the name of the host in the header and in the handshake."""

    def __init__(self, host: str, port: int, *, address: str, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port, timeout=SECONDS_TO_CONNECT)
        self.address, self.context = address, context

    def connect(self) -> None:
        plain = socket.create_connection((self.address, self.port), self.timeout)
        self.sock = self.context.wrap_socket(plain, server_hostname=self.host) if self.context else plain


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send, and give the beginning of the answer. Raises OSError for every network and protocol fault, DomainError
    for an address that is not allowed."""
    target = target_of(url)
    context = ssl.create_default_context() if target.scheme == "https" else None
    connection = PinnedConnection(target.host, target.port, address=address_of(target), context=context)
    try:
        connection.connect()
        guard = Timer(SECONDS, end_of, [connection.sock])
        guard.daemon = True
        guard.start()
        try:
            connection.request("POST", target.path, body, dict(headers))
            response = connection.getresponse()
            return Answer(response.status, response.read(MOST_ANSWER))
        finally:
            guard.cancel()
    except http.client.HTTPException as error:
        raise NotAccepted(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()


def end_of(waiting: socket.socket) -> None:
    """Whoever answers a byte at a time is not waited for: the read ends with what came so far."""
    try:
        waiting.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is over already
        return
