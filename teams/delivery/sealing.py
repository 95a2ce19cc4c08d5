"""Secrets that have to be used again are kept encrypted and authenticated, with a key derived from SECRET_KEY."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import DomainError

PURPOSE = b"headroom secrets of webhooks, 1"


def sealed(secret: str) -> str:
    """The secret as it may stand in the database."""
    return cipher().encrypt(secret.encode()).decode()


def opened(text: str) -> str:
    """The secret again; refused where SECRET_KEY is another than the one it was sealed with."""
    try:
        return cipher().decrypt(text.encode()).decode()
    except InvalidToken as error:
        raise DomainError(
            _("SECRET_KEY has changed since this webhook was entered. Disable it and enter it again.")
        ) from error


def cipher() -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(settings.SECRET_KEY.encode())
    return Fernet(urlsafe_b64encode(key))
