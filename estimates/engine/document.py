"""The normalised document in its other shapes: YAML for people, flat names with text for the form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import yaml

from estimates.engine.cells import DAY, PERT_KEYS, QUANTILE_KEYS, written
from estimates.engine.fields import FIELDS
from estimates.engine.walking import CONVENTION_KEYS


def to_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML that reads back to the same plan: large numbers as 7e9, ranges on one line."""
    return yaml.dump(
        dict(document), Dumper=_PlanDumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=110
    )


class _PlanDumper(yaml.SafeDumper):
    """Writes numbers as people do, and never an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_mapping(dumper: yaml.SafeDumper, mapping: dict[str, Any]) -> yaml.Node:
    is_range = bool(mapping) and mapping.keys() <= {*PERT_KEYS, *QUANTILE_KEYS, "value", *CONVENTION_KEYS}
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping.items(), flow_style=is_range)


def _write_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    is_plain = not any(isinstance(item, dict | list) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_plain)


def _write_number(dumper: yaml.SafeDumper, number: int | float) -> yaml.Node:
    return _bare(dumper, number_text(number))


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    if DAY.fullmatch(text):
        return _bare(dumper, text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _bare(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """A scalar without quotes and without a tag, whatever YAML itself would take it for."""
    return dumper.represent_scalar(dumper.resolve(yaml.ScalarNode, text, (True, False)), text)


_PlanDumper.add_representer(dict, _write_mapping)
_PlanDumper.add_representer(list, _write_list)
_PlanDumper.add_representer(int, _write_number)
_PlanDumper.add_representer(float, _write_number)
_PlanDumper.add_representer(str, _write_text)


def number_text(number: int | float) -> str:
    """The shortest exact text of a number of a document: `0.4`, `256`, `7e9`, `1.5e12`."""
    amount = Decimal(repr(number)).normalize()
    if amount and amount.adjusted() >= 6 and len(amount.as_tuple().digits) <= 4:
        return format(amount, "e").replace("e+", "e")
    return written(amount)


def to_flat(document: Mapping[str, Any]) -> dict[str, str]:
    """Path → text, as the fields of a form are filled: `people.0.fte`, `compute.mfu.low`."""
    return dict(_flattened(document, ""))


def _flattened(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flattened(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flattened(item, f"{path}.{index}")
    elif isinstance(value, bool):
        yield path, "true" if value else "false"
    elif isinstance(value, int | float):
        yield path, number_text(value)
    else:
        yield path, str(value)


def from_flat(texts: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as a document to parse. Empty texts are not given.

    A section that says `none` is `none`, whatever else was sent for it. A number beside its convention is its `value`.
    Of a range of which only the likeliest value was filled in, that is the number.
    """
    tree: dict[str, Any] = {}
    for path, raw in texts.items():
        if raw.strip():
            place = tree
            for step in path.split("."):
                place = place.setdefault(step, {})
            place[""] = raw
    return {key: _folded(inner, key) for key, inner in tree.items()}


def _folded(inner: dict[str, Any], declared: str) -> Any:
    """One place of the tree; `declared` is its path as fields are declared, with `*` for the number of a row."""
    own = inner.pop("", None)
    if own is not None and (not inner or own.strip().lower() == "none"):
        return own
    if all(key.isascii() and key.isdigit() and len(key) <= 6 for key in inner):
        return [_folded(inner[key], f"{declared}.*") for key in sorted(inner, key=int)]
    folded = {key: _folded(item, f"{declared}.{key}") for key, item in inner.items()}
    if declared in FIELDS and own is None and "mode" in folded and not folded.keys() & {"low", "high"}:
        own = folded.pop("mode")
    if own is None:
        return folded
    return {"value": own, **folded} if folded else own
