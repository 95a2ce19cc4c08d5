"""The bytes of a delivery, unpacked by what they are and not by what the file is called."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import zstandard
from django.conf import settings
from django.utils.translation import gettext as _

from . import manifest
from .faults import FileRefused

GZIP, ZSTD, ZIP, PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1"
ENCRYPTED_PARQUET = b"PARE"
EMPTY_ZIP = b"PK\x05\x06"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
BLOCK = 1 << 18
BOMB_RATIO, BOMB_RATIO_OF_COLUMNS = 400, 4_000
BOMB_FLOOR = 1 << 28
"""Text that packs better than 400 to 1 is no bill (than 4,000 where equal values stand together); small files are not
judged."""
PIECE_OF_ZSTD = 1 << 11
"""Four bytes may unpack to 128 KiB: so many at once hold 64 MiB at most."""
MOST_MEMBERS = 10_000
MOST_OF_A_MANIFEST = 1 << 24
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError, zipfile.BadZipFile, OSError)


class Part:
    """One file of a delivery: a name for messages, and a way to open its unpacked bytes."""

    def __init__(self, name: str, opened: Callable[[], IO[bytes]]) -> None:
        self.name = name
        self.opened = opened


class Unpacked(io.RawIOBase):
    """Unpacked bytes that are counted, hashed, and stopped when they grow beyond reason."""

    def __init__(self, inner: IO[bytes], packed: IO[bytes], *, packed_size: int, digest: Any) -> None:
        self._packed, self._packed_size, self._digest = packed, packed_size, digest
        self.count = 0
        try:
            self._inner = _opened(inner)
        except BROKEN as error:
            raise damaged(error) from None
        self.is_own_text = _begins_as_parquet(self._inner)
        """Whether the text is written here (UTF-8, commas), whatever the source's tables are written in."""
        if self.is_own_text:
            self._inner = self._table_of_columns()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._inner.read(len(buffer))
        except BROKEN as error:
            raise damaged(error) from None
        self.count += len(block)
        self._refuse_bomb(self.count, BOMB_RATIO_OF_COLUMNS if self.is_own_text else BOMB_RATIO)
        self._digest.update(block)
        buffer[: len(block)] = block
        return len(block)

    def _refuse_bomb(self, count: int, ratio: int) -> None:
        limit = getattr(settings, "USAGE_MOST_BYTES", 1 << 38)
        if count > limit or (count > BOMB_FLOOR and count > ratio * self._packed_size):
            raise FileRefused(_("Unpacked, the file is larger than any bill of its size could be."))

    def _table_of_columns(self) -> IO[bytes]:
        """The text of a Parquet file. It is read from its end, so one that is packed is laid down first."""
        from .parquet import ParquetText  # its library is large, and only a Parquet file needs it

        file = self._inner
        if file is not self._packed:
            laid, size = tempfile.TemporaryFile(), 0  # noqa: SIM115 (whoever reads the table closes it)
            try:
                while block := file.read(BLOCK):
                    size += len(block)
                    self._refuse_bomb(size, BOMB_RATIO)
                    laid.write(block)
            except BROKEN as error:
                raise damaged(error) from None
            file = laid
        return ParquetText(file)  # type: ignore[return-value]

    def packed_position(self) -> int:
        """How far the file as it came has been read."""
        return self._packed.tell()

    def close(self) -> None:
        self._inner.close()
        super().close()


class ZstdBytes(io.RawIOBase):
    """Unpacks zstd and notices when the last frame is cut off, which the library's own reader does not."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._begun = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int = 0) -> bytes:
        """What comes next, at least one byte of it; nothing at the end."""
        while not self._ready:
            block = self._packed.read(PIECE_OF_ZSTD)
            if not block:
                if self._begun and not self._frame.eof:
                    raise EOFError("the zstd stream has no end")
                break
            self._ready = self._decompress(block)
        return self._ready

    def read(self, size: int = -1) -> bytes:
        self.peek()
        answer, self._ready = self._ready[:size], self._ready[size:]
        return answer

    def _decompress(self, block: bytes) -> bytes:
        out = []
        while block:
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            self._begun = True
            out.append(self._frame.decompress(block))
            block = self._frame.unused_data if self._frame.eof else b""
        return b"".join(out)


class Delivery:
    """A delivered file: its parts in order, each readable as text bytes; counts and hashes what was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names_of_columns: tuple[str, ...] = ()
        """Of tables without a header, where a manifest names their columns."""
        self.size = path.stat().st_size
        self.digest = hashlib.sha256()
        self._done = 0
        if not self.size:
            raise FileRefused(_("The file is empty: zero bytes."))
        with path.open("rb") as file:
            self.magic = file.read(4)
        if self.magic[:2] in UTF16:
            raise FileRefused(_("The file is UTF-16. Save it as UTF-8."))
        if self.magic == ENCRYPTED_PARQUET:
            raise FileRefused(_("The Parquet file is encrypted. Deliver it without encryption."))
        if self.magic == EMPTY_ZIP:
            raise FileRefused(_("The archive holds no file."))

    def parts(self) -> Iterator[tuple[str, io.BufferedReader, Unpacked]]:
        """Every part: its name, a buffered reader of its bytes, and the counter beneath it."""
        self.digest = hashlib.sha256()
        if self.magic == ZIP:
            yield from self._members()
            return
        with self.path.open("rb") as packed:
            yield self._part(self.path.name, packed, packed)

    def _part(self, name: str, inner: IO[bytes], packed: IO[bytes]) -> tuple[str, io.BufferedReader, Unpacked]:
        unpacked = Unpacked(inner, packed, packed_size=self.size, digest=self.digest)
        return name, io.BufferedReader(unpacked, buffer_size=1 << 20), unpacked

    def _members(self) -> Iterator[tuple[str, io.BufferedReader, Unpacked]]:
        with self.path.open("rb") as packed:
            archive = opened_archive(packed)
            members = usable_members(archive)
            members = self._listed(members, archive)
            for member in members:
                yield self._part(member.filename, opened_member(archive, member), packed)

    def _listed(self, members: list[zipfile.ZipInfo], archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        """Where manifests name parts: those alone, which must all be there."""
        parts: list[str] = []
        for member in archive.infolist():
            if not manifest.is_manifest(member.filename):
                continue
            with opened_member(archive, member) as file:
                content = read_manifest(file)
            parts += manifest.parts_of_manifest(content)
            self.names_of_columns = self.names_of_columns or manifest.names_of_columns(content)
        found, lacking = manifest.in_manifest([member.filename for member in members], parts)
        if lacking:
            raise FileRefused(
                _("The manifest names parts that the archive lacks: %(names)s.") % {"names": ", ".join(lacking[:5])},
                value=lacking[0],
            )
        return [member for member in members if member.filename in found] if parts else members


def read_manifest(file: IO[bytes]) -> bytes:
    try:
        return file.read(MOST_OF_A_MANIFEST)
    except BROKEN as error:
        raise damaged(error) from None


def opened_archive(packed: IO[bytes]) -> zipfile.ZipFile:
    """An archive to look into; one whose list of members is damaged, or of a kind nobody here reads, is refused."""
    try:
        return zipfile.ZipFile(packed)
    except (*BROKEN, NotImplementedError, ValueError, struct.error) as error:
        raise FileRefused(_("The archive is damaged: %(error)s") % {"error": error}) from None


def opened_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """A member to read; one that is locked, damaged, or packed in a way nobody here reads, refuses the file."""
    if member.flag_bits & 1:
        raise FileRefused(_("The archive is locked with a password."), value=member.filename)
    try:
        return archive.open(member)
    except NotImplementedError:
        raise FileRefused(
            _("The archive is packed in a way that is not read. Pack it as a plain zip."), value=member.filename
        ) from None
    except BROKEN as error:
        raise damaged(error) from None


def usable_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The members that hold rows, in the order of their names. Nothing is ever written where a name points."""
    names = {member.filename for member in archive.infolist()}
    if "[Content_Types].xml" in names:
        raise FileRefused(_("The file is a spreadsheet. Export it as CSV."))
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/") and member.file_size
    ]
    rows = [member for member in members if not member.filename.lower().endswith((".json", ".txt", ".md"))] or members
    if not rows:
        raise FileRefused(_("The archive holds no file."))
    if len({member.filename for member in rows}) < len(rows):
        raise FileRefused(_("The archive holds two files of one name: what they hold would count twice."))
    if len(rows) > MOST_MEMBERS:
        raise FileRefused(_("The archive holds more than %(most)s files.") % {"most": MOST_MEMBERS})
    return sorted(rows, key=lambda member: member.filename)


def _opened(packed: IO[bytes]) -> IO[bytes]:
    """The unpacking reader that the first bytes ask for."""
    magic = packed.read(4)
    packed.seek(0)
    if magic[:2] == GZIP:
        return gzip.GzipFile(fileobj=packed, mode="rb")  # type: ignore[return-value]
    if magic == ZSTD:
        return ZstdBytes(packed)  # type: ignore[return-value]
    return packed


def _begins_as_parquet(file: IO[bytes]) -> bool:
    """By its first bytes; whatever is packed once more is looked into."""
    try:
        if isinstance(file, gzip.GzipFile | ZstdBytes):
            return file.peek(4)[:4] == PARQUET
        magic = file.read(4)
        file.seek(0)
    except BROKEN as error:
        raise damaged(error) from None
    return magic == PARQUET


def damaged(error: Exception) -> FileRefused:
    return FileRefused(_("The file ends early or is damaged: %(error)s") % {"error": error})
