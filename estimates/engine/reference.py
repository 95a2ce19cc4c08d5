"""The page `docs/quantities.md`: every quantity with its formula, made from the declarations themselves.

`python -m estimates.engine.reference` writes it, `--check` only says whether it is current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from estimates.engine.baselines import ANY_MTBF, EXPERIMENTS, FIXED, MTBF, PAID_MFU, RESIDUALS, Known
from estimates.engine.continued import RUNS as CONTINUED
from estimates.engine.explain import leaf_words
from estimates.engine.graph import Quantity
from estimates.engine.quantities import MODULES, QUANTITIES
from estimates.engine.sampling import quantile
from estimates.engine.warning_texts import TEXTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "quantities.md"


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Quantities"
    yield ""
    yield "Made by `python -m estimates.engine.reference` from the declarations in `estimates/engine/`; do not edit."
    yield "A quantity with several formulas uses the first whose figures a plan gives. Costs say cause → line."
    for module in MODULES:
        about, _, rest = (module.__doc__ or "").strip().partition("\n")
        yield f"\n## {about.partition(':')[0].rstrip('.')}"
        yield f"\n{about} {' '.join(rest.split())}".rstrip()
        for name, item in QUANTITIES.items():
            if item.formula.__module__ == module.__name__:
                yield from _entry(name, item)
    yield from _defaults()
    yield from _continued()
    yield from _warnings()


def _entry(name: str, item: Quantity) -> Iterator[str]:
    yield f"\n### `{name}`"
    facts = [f"{item.english} · {item.chinese}", f"unit: {item.unit}"]
    if item.is_cost:
        facts.append(f"{item.cause}{'.' + item.part if item.part else ''} → {item.line}, {item.behaviour}")
    if item.axis:
        facts.append(f"by {item.axis.replace('_', ' and ')}")
    yield f"\n{'; '.join(facts)}"
    for way in (*item.variants, item):
        formula = f" `{way.text}`" if way.text else ""
        source = f" *{way.source}*" if way.source else ""
        yield f"- {way.about}{formula}{source}"
        yield from _needs(way)


def _needs(way: Quantity) -> Iterator[str]:
    leaves = [name for name in way.parameters if name not in QUANTITIES]
    if leaves:
        named = [f"`{name.replace('__', '.')}` ({leaf_words(name)[0]})" for name in leaves]
        yield f"  Inputs: {'; '.join(named)}"


def _defaults() -> Iterator[str]:
    yield "\n## Published defaults"
    yield "\nWhat an input is when it is left to history and the organisation has none: P10, P50, P90, and the source."
    yield "\n| input | P10 | P50 | P90 | source |"
    yield "|---|---|---|---|---|"
    for (family, size), known in PAID_MFU.items():
        yield _default(f"compute.paid_mfu, {family} {size}", known)
    for family, known in MTBF.items():
        yield _default(f"reliability.accelerator_mtbf_hours, {family}", known)
    yield _default("reliability.accelerator_mtbf_hours, others", ANY_MTBF)
    for task, ratio in EXPERIMENTS.items():
        yield _default(f"experiments.ratio, {task}", Known(ratio, "no history"))
    for path, known in FIXED.items():
        yield _default(path, known)
    for path, known in RESIDUALS.items():
        yield _default(f"model_error.sigma with {path}", known)


def _continued() -> Iterator[str]:
    yield "\n## Published continued pretraining"
    yield "\nWhat `data.share_of_base` is made from: tokens of the run against those that its base had seen."
    yield "\n| run | tokens | of the base | share | source |"
    yield "|---|---|---|---|---|"
    for run in CONTINUED:
        yield f"| {run.name} | {run.tokens:.3g} | {run.base_tokens:.3g} | {run.share:.3f} | {run.source} |"


def _default(name: str, known: Known) -> str:
    levels = " | ".join(f"{quantile(known.value, share):.4g}" for share in (0.1, 0.5, 0.9))
    return f"| {name} | {levels} | {known.source} |"


def _warnings() -> Iterator[str]:
    yield "\n## Warnings"
    yield "\n| code | English | 中文 |"
    yield "|---|---|---|"
    for code, (english, chinese) in TEXTS.items():
        yield f"| {code} | {english} | {chinese} |"


def main(arguments: list[str]) -> int:
    """Write the page, or say with status 1 that it is not current."""
    if "--check" in arguments:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        if not current:
            sys.stderr.write("docs/quantities.md is not current: run python -m estimates.engine.reference\n")
        return 0 if current else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
