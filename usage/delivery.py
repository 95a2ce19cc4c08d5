"""The settings of a source or of one delivery: a closed list, each checked, each refusal naming what is accepted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from core.money import CURRENCIES, parse_amount
from core.months import Month
from estimates.engine.books import MODES

from .models import Meaning, Money
from .reading.numbers import MONEY_TEXTS
from .reading.records import ENCODINGS
from .reading.times import DATE_ORDERS

OF_THE_SOURCE = ("meaning", "money", "part_of")
"""Settings that are columns of `Source`, and may be given with one delivery too."""
OF_THE_DELIVERY = ("format", "issued_at", "billing_period", "final")
"""Settings that say something about one file, and are never kept for the next."""
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Settings:
    """How the files of a source are read. Every field is optional, and a name of `--setting`."""

    format: str = ""
    """Of one delivery: it overrules what the content looks like."""
    currency: str = ""
    timezone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    date_order: str = ""
    money_text: str = "plain"
    encoding: str = "utf-8"
    delimiter: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    """Of a mapped table: what is the same in every row and stands in no column."""
    view: str = ""
    currency_map: Mapping[str, str] = field(default_factory=dict)
    meaning: str = ""
    money: str = ""
    part_of: str = ""
    single_scope: bool = False
    strict: bool = False
    issued_at: datetime | None = None
    billing_period: Month | None = None
    drop_limit: Decimal = Decimal("0.2")
    final: bool = False
    """Of a delivery: it is the final bill of its periods."""
    final_after_days: int | None = None
    """Of a source: how many days after its end a month becomes final by itself."""
    cluster: str = ""
    rate_card: Mapping[str, str] = field(default_factory=dict)
    """Partition, or accelerator as the log names it → `ACCELERATOR[/MODE[/PROVIDER[/REGION]]]` of the price table."""
    shares_per_card: int | None = None
    """Of cards that several jobs hold at once: how many shards (Slurm) or time slices (Kubernetes) one card has."""
    annual_commitment: bool = False
    vouchers: str = "payment"
    given: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The settings as they were written."""

    def digest_of_reading(self) -> bytes:
        """Changes whenever the same text could be read as another row."""
        reading = {name: value for name, value in self.given.items() if name not in NOT_READING}
        return hashlib.blake2b(json.dumps(reading, sort_keys=True, default=str).encode(), digest_size=16).digest()


NOT_READING = (*OF_THE_SOURCE, "issued_at", "single_scope", "strict", "drop_limit", "final", "final_after_days")
NAMES = tuple(item.name for item in fields(Settings) if item.name != "given")


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Checked settings from texts; every fault at once as a `DomainError`."""
    faults = [
        Fault(name, value, _("is no setting"), ", ".join(NAMES)) for name, value in given.items() if name not in NAMES
    ]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in NAMES or value in ("", None):
            continue
        try:
            values[name] = READERS.get(name, _text)(value)
        except (ValueError, ZoneInfoNotFoundError, AttributeError, TypeError) as error:
            faults.append(Fault(name, value, str(error) or _("is not accepted"), ACCEPTED.get(name, "")))
    if faults:
        raise DomainError(_("The settings are not accepted."), code="settings_refused", faults=faults)
    return Settings(**values, given=dict(given))


def _text(value: Any) -> str:
    return str(value).strip()


def _choice(*accepted: str) -> Any:
    def read(value: Any) -> str:
        found = _text(value).lower()
        if found not in accepted:
            raise ValueError(_("must be one of %(accepted)s") % {"accepted": ", ".join(accepted)})
        return found

    return read


def _spelling(spellings: Mapping[str, str]) -> Any:
    def read(value: Any) -> str:
        found = spellings.get(_text(value).lower())
        if found is None:
            raise ValueError(_("must be one of %(accepted)s") % {"accepted": ", ".join(spellings)})
        return found

    return read


def _currency(value: Any) -> str:
    code = _text(value).upper()
    if code not in CURRENCIES:
        raise ValueError(_("is no currency of ISO 4217"))
    return code


def _zone(value: Any) -> ZoneInfo:
    try:
        return ZoneInfo(_text(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(_("is no time zone such as Asia/Shanghai")) from None


def _flag(value: Any) -> bool:
    text = _text(value).lower()
    if text not in TRUE + FALSE:
        raise ValueError(_("must be 1 or 0"))
    return text in TRUE


def _mapping(value: Any) -> dict[str, str]:
    """A JSON object, or `A=B,C=D` (also `A:B`)."""
    if isinstance(value, Mapping):
        return {str(key): str(item) for key, item in value.items()}
    text = _text(value)
    if text.startswith("{"):
        return _mapping(json.loads(text))
    pairs = [pair.replace(":", "=", 1) if "=" not in pair else pair for pair in text.split(",") if pair.strip()]
    if not all("=" in pair for pair in pairs):
        raise ValueError(_("must be pairs such as A=B,C=D"))
    return {left.strip(): right.strip() for left, right in (pair.split("=", 1) for pair in pairs)}


def _currency_map(value: Any) -> dict[str, str]:
    return {code: _currency(currency) for code, currency in _mapping(value).items()}


def _rate_card(value: Any) -> dict[str, str]:
    """Pairs such as `gpu=h100-sxm-80gb/own`."""
    offers = _mapping(value)
    for offer in offers.values():
        accelerator, _slash, rest = offer.partition("/")
        mode = rest.partition("/")[0]
        if not accelerator or mode not in MODES or offer.count("/") > 3:
            raise ValueError(_("must be pairs such as gpu=h100-sxm-80gb/own; modes: %(modes)s") % {"modes": MODES})
    return offers


def _moment(value: Any) -> datetime:
    """An instant; a day or a time without offset is UTC."""
    moment = datetime.fromisoformat(_text(value)) if not isinstance(value, datetime) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo("UTC"))


def _month(value: Any) -> Month:
    text = _text(value)
    return Month.of(date.fromisoformat(text)) if len(text) == 10 else Month.parse(text)


def _share(value: Any) -> Decimal:
    share = parse_amount(_text(value))
    if not 0 <= share <= 1:
        raise ValueError(_("must be between 0 and 1"))
    return share


def _days(value: Any) -> int:
    text = _text(value)
    if not (text.isascii() and text.isdigit() and int(text) <= 366):
        raise ValueError(_("must be a number of days from 0 to 366"))
    return int(text)


def _shares(value: Any) -> int:
    text = _text(value)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1024):
        raise ValueError(_("must be a number from 1 to 1024"))
    return int(text)


def _delimiter(value: Any) -> str:
    text = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}.get(str(value), str(value))
    if not 1 <= len(text) <= 2:
        raise ValueError(_("must be one or two characters, or tab"))
    return text


READERS: dict[str, Any] = {
    "currency": _currency,
    "timezone": _zone,
    "date_order": _spelling(DATE_ORDERS),
    "money_text": _spelling(MONEY_TEXTS),
    "encoding": _spelling(ENCODINGS),
    "delimiter": _delimiter,
    "columns": _mapping,
    "constants": _mapping,
    "view": _choice("actual", "amortised", "amortized"),
    "currency_map": _currency_map,
    "meaning": _choice(*Meaning.values),
    "money": _choice(*Money.values),
    "single_scope": _flag,
    "strict": _flag,
    "final": _flag,
    "final_after_days": _days,
    "rate_card": _rate_card,
    "issued_at": _moment,
    "billing_period": _month,
    "drop_limit": _share,
    "shares_per_card": _shares,
    "annual_commitment": _flag,
    "vouchers": _choice("payment", "discount"),
}
ACCEPTED = {
    "currency": "USD, CNY, EUR …",
    "timezone": "UTC, Asia/Shanghai …",
    "date_order": "ymd, mdy, dmy",
    "money_text": "plain, us ($1,234.56), eu (1.234,56)",
    "encoding": "utf-8, gb18030, latin-1",
    "delimiter": ", ; | tab",
    "columns": "JSON, field=Header",
    "constants": "unit=Hours",
    "currency_map": "RMB=CNY",
    "rate_card": "PARTITION=h100-sxm-80gb/own",
    "issued_at": "2025-02-03T00:00:00Z",
    "billing_period": "2025-01",
    "drop_limit": "0.2",
    "shares_per_card": "4",
    "single_scope": "1, 0",
    "strict": "1, 0",
    "final": "1, 0",
    "final_after_days": "10",
}
