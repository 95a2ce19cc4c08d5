"""Samples of every format, damaged by chance a few hundred ways: each ends in rows that are right, or in a refusal."""

from __future__ import annotations

import contextlib
import random

import pytest

from usage.reading.faults import FileRefused, RowFault

from .records import read
from .test_format_contract import SAMPLES, assert_is_right
from .test_format_contract_of_logs import settings_of

MUTANTS = 120
UGLY = (
    b"", b"-", b"NULL", b"NaN", b"1E999", b"9" * 400, "２".encode(), b"9999-12-31", b"0001-01-01T00:00+14:00", b"=1+1",
    b"\xff\xfe", b"\xed\xa0\x80", b"[[[[", b"{{", b"}", b"]", b'"', b'""', b"\\", b"\r", b"\n", b",", b"|", b";", b"\t",
    b"\xef\xbb\xbf", "合计".encode(), b"null", b"{}", b"-5", b"99999-23:59:59", b"gres/gpu=x", b"\\u0000", b"\\ud800",
)  # fmt: skip


def mutant(content: bytes, chance: random.Random) -> bytes:
    """The content with one to six kinds of damage."""
    damaged = bytearray(content)
    for _time in range(chance.choice((1, 1, 2, 3, 6))):
        at = chance.randrange(len(damaged) + 1)
        match chance.randrange(6):
            case 0:
                damaged[at : at + 1] = bytes([chance.randrange(1, 256)])
            case 1:
                damaged[at:at] = chance.choice(UGLY)
            case 2:
                del damaged[at : at + chance.choice((1, 3, 20, 200))]
            case 3:
                damaged = damaged[:at]
            case 4:
                end = damaged.find(chance.choice((b",", b"\n", b'"', b"|")), at)
                damaged[at : max(end, at)] = chance.choice(UGLY)
            case 5:
                damaged[at:at] = damaged[at : at + 1_000]
    return bytes(damaged)


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir() if path.is_file()))
def test_a_damaged_sample_ends_in_rows_that_are_right_or_in_a_refusal(name: str) -> None:
    content = (SAMPLES / name).read_bytes()
    for seed in range(MUTANTS):
        damaged = mutant(content, random.Random(f"{name} {seed}"))
        with contextlib.suppress(FileRefused):
            for row, keys in read(damaged, **settings_of(name)).rows:
                with contextlib.suppress(RowFault):
                    assert_is_right(row, keys)
