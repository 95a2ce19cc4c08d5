"""What is made from the declarations of the quantities themselves.

The page `docs/quantities.md`: every quantity with its formula. And `notes.py`: what each formula says of itself, and
its source, marked for gettext, which collects neither docstrings nor constants. `python -m estimates.engine.reference`
writes both, `--check` only says whether they are current.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from estimates.engine.baselines import ANY_MTBF, EXPERIMENTS, FIXED, MTBF, PAID_MFU, RESIDUALS, Known
from estimates.engine.continued import RUNS as CONTINUED
from estimates.engine.explain import SUM_OF_A_LIFE, leaf_words
from estimates.engine.graph import Quantity
from estimates.engine.quantities import MODULES, QUANTITIES
from estimates.engine.sampling import quantile
from estimates.engine.warning_texts import TEXTS

ENGINE = Path(__file__).resolve().parent
PAGE = ENGINE.parents[1] / "docs" / "quantities.md"
NOTES = ENGINE / "notes.py"
LONGEST_ENTRY = 121
LONGEST_PIECE = 100
HEAD_OF_NOTES = '''"""What formulas say of themselves and of their sources, marked for gettext.

Made by `python -m estimates.engine.reference` from the declarations of the quantities; do not edit.
"""

from estimates.engine.messages import gettext_noop as _

'''


def notes() -> str:
    """The whole module of notes: each once, in the order of the page, and behind them the sources."""
    ways = [way for item in QUANTITIES.values() for way in (*item.variants, item)]
    sources = (way.source for way in ways if way.source)
    texts = dict.fromkeys((*(way.about for way in ways), SUM_OF_A_LIFE, *sources))
    return f"{HEAD_OF_NOTES}NOTES = (\n{''.join(marked(text) for text in texts)})\n"


def marked(text: str) -> str:
    """One entry; what is too long for a line stands in pieces."""
    entry = f"    _({quoted(text)}),\n"
    if len(entry) <= LONGEST_ENTRY:
        return entry
    pieces = "".join(f"        {quoted(piece)}\n" for piece in wrap(text, LONGEST_PIECE, drop_whitespace=False))
    return f"    _(\n{pieces}    ),\n"


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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
    """Write both, or say with status 1 what is not current."""
    made = {PAGE: page(), NOTES: notes()}
    if "--check" in arguments:
        stale = [path.name for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
        if stale:
            sys.stderr.write(f"not current: {', '.join(stale)}; run python -m estimates.engine.reference\n")
        return 1 if stale else 0
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
