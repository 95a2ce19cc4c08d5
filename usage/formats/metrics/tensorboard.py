"""TensorBoard event files: TFRecords of protocol buffers, read with no library.

A record is its length (8 bytes), a checksum of that, the bytes, and a checksum of those; checksums are masked CRC-32C.
The last record may be cut while the run still writes: it is passed over and said. Damage before it refuses the file.
Layout of the messages: tensorflow/core/util/event.proto and framework/summary.proto.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import IO

from django.utils.translation import gettext as _

from ...reading.faults import FileRefused
from .contract import Head, Log, MetricFormat, Point, moment, number_of

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
EVENT_WALL_TIME, EVENT_STEP, EVENT_SUMMARY = 1, 2, 5
SUMMARY_VALUE, VALUE_TAG, VALUE_SIMPLE, VALUE_TENSOR = 1, 1, 2, 8
TENSOR_TYPE, TENSOR_CONTENT, TENSOR_FLOATS, TENSOR_DOUBLES = 1, 4, 5, 6
TYPE_FLOAT, TYPE_DOUBLE = 1, 2
LONGEST = 64 << 20
CHECKED = 1 << 16
"""Longer records hold pictures or graphs and no scalars; summing them up byte by byte would only cost time."""


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _bit in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


CRC_TABLE = _crc_table()


def masked_crc(content: bytes) -> int:
    """CRC-32C, rotated and shifted as TFRecords have it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def recognise(head: Head) -> str:
    if len(head.raw) >= 12 and struct.unpack("<I", head.raw[8:12])[0] == masked_crc(head.raw[:8]):
        return "the file begins with a TFRecord whose checksum is right"
    return ""


def records(stream: IO[bytes], log: Log) -> Iterator[bytes]:
    """The records of the file; a cut last one is passed over."""
    while head := stream.read(12):
        if len(head) < 12:
            log.ignore("cut_record")
            return
        length, checksum = struct.unpack("<QI", head)
        if checksum != masked_crc(head[:8]) or length > LONGEST:
            raise FileRefused(_("The event file is damaged: a record's length does not fit its checksum."))
        body = stream.read(length + 4)
        if len(body) < length + 4:
            log.ignore("cut_record")
            return
        content = body[:length]
        if length <= CHECKED and struct.unpack("<I", body[length:])[0] != masked_crc(content):
            raise FileRefused(_("The event file is damaged: a record does not fit its checksum."))
        yield content


def read(log: Log) -> Iterator[Point]:
    with log.path.open("rb") as stream:
        for record in records(stream, log):
            points = list(points_of(record))
            if not points:
                log.ignore("no_scalar")
            yield from points


def points_of(record: bytes) -> Iterator[Point]:
    """The scalars of one event."""
    step, wall_time = 0, None
    summaries: list[bytes] = []
    for number, wire, value in fields_of(record):
        if number == EVENT_WALL_TIME and wire == FIXED64:
            wall_time = struct.unpack("<d", value)[0]
        elif number == EVENT_STEP and wire == VARINT:
            step = int.from_bytes(value, "little", signed=True)
        elif number == EVENT_SUMMARY and wire == BYTES:
            summaries.append(value)
    for summary in summaries:
        for number, _wire, value in fields_of(summary):
            if number == SUMMARY_VALUE and (found := scalar_of(value)) and step >= 0:
                yield Point(found[0], step, moment(wall_time), found[1])


def scalar_of(value: bytes) -> tuple[str, float | None] | None:
    """Tag and number of one summary value; None where it is a picture, a histogram or text."""
    tag, is_scalar = "", False
    number: float | None = None
    for field, wire, content in fields_of(value):
        if field == VALUE_TAG and wire == BYTES:
            tag = content.decode("utf-8", "replace")
        elif field == VALUE_SIMPLE and wire == FIXED32:
            is_scalar, number = True, shortest(struct.unpack("<f", content)[0])
        elif field == VALUE_TENSOR and wire == BYTES:
            number = number_in_tensor(content)
            is_scalar = number is not None
    return (tag, number_of(number)[1]) if is_scalar and tag else None


def number_in_tensor(tensor: bytes) -> float | None:
    """The one number of a tensor of floats or doubles."""
    kind = 0
    for field, wire, content in fields_of(tensor):
        if field == TENSOR_TYPE and wire == VARINT:
            kind = int.from_bytes(content, "little")
        elif field in (TENSOR_CONTENT, TENSOR_FLOATS, TENSOR_DOUBLES) and wire in (BYTES, FIXED32, FIXED64):
            if kind == TYPE_FLOAT and len(content) == 4:
                return shortest(struct.unpack("<f", content)[0])
            if kind == TYPE_DOUBLE and len(content) == 8:
                return struct.unpack("<d", content)[0]
    return None


def shortest(number: float) -> float:
    """A single-precision number as the shortest decimal that means it: 2.71 and not 2.7100000381."""
    if not math.isfinite(number) or number == int(number):
        return number
    exact = struct.pack("<f", number)
    return next(
        (found for digits in range(6, 9) if struct.pack("<f", found := float(f"{number:.{digits}g}")) == exact), number
    )


def fields_of(message: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The fields of a protocol buffer: number, wire type, bytes (of a varint eight, little-endian)."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield key >> 3, wire, value.to_bytes(8, "little")
            continue
        length = {FIXED64: 8, FIXED32: 4}.get(wire)
        if wire == BYTES:
            length, at = _varint(message, at)
        if length is None or at + length > len(message):
            raise FileRefused(_("The event file is damaged: a message cannot be read."))
        yield key >> 3, wire, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
    raise FileRefused(_("The event file is damaged: a message cannot be read."))


FORMAT = MetricFormat("tensorboard", "TensorBoard events", recognise, read)
