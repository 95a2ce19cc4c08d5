"""Where a webhook may lead. A name is resolved once, and the connection goes to that very address: what a name server
answers a moment later leads nobody into the house."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
CARRIERS = [ipaddress.ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")]
"""IPv6 networks whose addresses carry an IPv4 address: where they end up cannot be seen."""
LONGEST_HOST = 253
"""Characters that a name may have (RFC 1035)."""


@dataclass(frozen=True)
class Target:
    """A webhook's address, taken apart."""

    scheme: str
    host: str
    port: int
    path: str


def target_of(url: str) -> Target:
    """Take the address apart; refused where it is none that can be sent to."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise refused(url, _("is no address")) from error
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or not url.isascii():
        raise refused(url, _("is no address"))
    if len(parts.hostname) > LONGEST_HOST:
        raise refused(url, _("has a name of a host that is too long"))
    if any(sign.isspace() or ord(sign) < 32 for sign in url):
        raise refused(url, _("holds a blank"))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), path)


def check_literal(target: Target) -> None:
    """Refuse an address in figures that nothing would be sent to; what a name leads to is seen when it is sent."""
    try:
        socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return
    address_of(target)


def refused(url: str, why: str) -> DomainError:
    """What is said of an address names its host alone: the rest may be a secret."""
    host = url.partition("//")[2].partition("/")[0].rpartition("@")[2]
    faults = [Fault("url", host[:60], why, "https://host/path")]
    return DomainError(_("A webhook cannot be sent there."), faults=faults)


def address_of(target: Target) -> str:
    """The one address to connect to. Every address of the name has to be allowed, lest the choice be the sender's."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise DomainError(_("%(host)s is no name of a host.") % {"host": target.host}) from error
    addresses = [ipaddress.ip_address(entry[4][0]) for entry in found]
    inside = [address for address in addresses if not is_public(address)]
    if any(not is_allowed(address) for address in inside):
        raise DomainError(
            _("%(host)s is an address inside the house, which is not allowed.") % {"host": target.host},
            faults=[
                Fault(
                    "url",
                    target.host,
                    _("is inside the house"),
                    _("a public address, or one in HEADROOM_WEBHOOK_NETWORKS"),
                )
            ],
        )
    if target.scheme == "http" and len(inside) < len(addresses):
        raise DomainError(_("Outside the house a webhook needs https."))
    return str(addresses[0])


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in CARRIERS):
            return False
    return address.is_global and not address.is_multicast


def is_allowed(address: Address) -> bool:
    """Is an inside address among the networks that the installation allows?"""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    networks = (ipaddress.ip_network(network) for network in settings.WEBHOOK_NETWORKS)
    return any(address in network for network in networks)
