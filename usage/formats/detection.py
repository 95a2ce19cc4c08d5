"""Which format a file has: by its content, with the reason in words; a setting may overrule."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from io import BufferedReader

from django.utils.translation import gettext as _

from core.errors import Fault

from ..delivery import Settings
from ..reading.faults import FileRefused
from ..reading.header import Header
from ..reading.records import BOM, split_record
from ..reading.unpack import GZIP, ZIP, ZSTD
from . import (
    alibaba,
    aws_cur,
    azure,
    baidu,
    dcgm,
    focus,
    gcp,
    generic_csv,
    huawei,
    inventory,
    kubecost,
    oci,
    opencost,
    openshift,
    service,
    slurm_json,
    slurm_text,
    sreport,
    tencent,
)
from .contract import Format, Recognition, Sample

FORMATS: tuple[Format, ...] = (
    focus.FORMAT,
    aws_cur.FORMAT,
    azure.FORMAT,
    gcp.FORMAT,
    oci.FORMAT,
    alibaba.FORMAT,
    huawei.FORMAT,
    tencent.FORMAT,
    baidu.FORMAT,
    slurm_text.FORMAT,
    slurm_json.FORMAT,
    sreport.FORMAT,
    opencost.FORMAT,
    kubecost.FORMAT,
    openshift.FORMAT,
    dcgm.FORMAT,
    service.FORMAT,
    inventory.FORMAT,
    generic_csv.FORMAT,
)
HEAD = 1 << 16
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Detected:
    """A format, why we think so, and how the file's table is cut."""

    format: Format
    reason: str
    delimiter: str


def format_named(slug: str) -> Format:
    """The format of a slug, or a refusal that lists them all."""
    for known in FORMATS:
        if known.slug == slug:
            return known
    slugs = ", ".join(known.slug for known in FORMATS)
    raise FileRefused(
        _("There is no format %(slug)s.") % {"slug": slug}, faults=[Fault("format", slug, _("is no format"), slugs)]
    )


def detect(stream: BufferedReader, name: str, settings: Settings, wanted: str = "") -> Detected:
    """Recognise the part that begins at the stream's position, without moving it (`peek`)."""
    sample = take_sample(stream, name, settings)
    if wanted:
        known = format_named(wanted)
        known.recognise(sample)
        return Detected(known, _("set for the source or the delivery"), sample.delimiter)
    found: list[tuple[int, Format, Recognition]] = []
    for known in FORMATS:
        recognition = known.recognise(sample)
        if recognition:
            found.append((recognition.certainty, known, recognition))
    if not found:
        raise FileRefused(unknown_content(sample), value=", ".join(sample.header.names[:8])[:200])
    _certainty, best, recognition = max(found, key=lambda item: item[0])
    return Detected(best, recognition.reason, sample.delimiter)


def take_sample(stream: BufferedReader, name: str, settings: Settings) -> Sample:
    head = _head(stream)
    if head.startswith((GZIP, ZSTD, ZIP)):
        raise FileRefused(_("The file is packed twice. Unpack it once and deliver what comes out."), value=name)
    if b"\0" in head:
        raise FileRefused(_("The file holds NUL bytes: it is no text."))
    text = head.removeprefix(BOM).decode(settings.encoding, "replace")
    first = next((line for line in head.removeprefix(BOM).splitlines() if line.strip()), b"")
    delimiter = settings.delimiter or likely_delimiter(first)
    names = split_record(first, delimiter, settings.encoding) if len(delimiter) == 1 else []
    return Sample(name=name, head=head, text=text, header=Header(names), delimiter=delimiter, settings=settings)


def _head(stream: BufferedReader) -> bytes:
    return stream.peek(HEAD)[:HEAD]


def likely_delimiter(first_line: bytes) -> str:
    """The separator that cuts the first line into most names."""
    return max(DELIMITERS, key=lambda mark: first_line.count(mark.encode()))


def unknown_content(sample: Sample) -> str:
    """What the file looks like, for a refusal that helps."""
    if sample.settings.encoding == "utf-8" and not _is_utf8(sample.head):
        return _("The text is not UTF-8. For a GBK bill set encoding=gb18030.")
    start = sample.text.lstrip()[:1]
    if not start:
        return _("The file is empty: it holds blank lines alone.")
    if start in "{[":
        return _("The file is JSON of a kind no format knows. An export manifest is no bill: deliver the data files.")
    if start == "<":
        return _("The file is a web page or XML, probably an error message of a download.")
    if not sample.header.names or len(sample.header.names) < 2:
        return _("The file is no table: its first line has no separator.")
    return _("No format knows these columns. Choose a format, or map the columns of a generic CSV.")


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
