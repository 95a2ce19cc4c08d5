"""Evaluation: plans of one structure are evaluated together, over all samples at once.

A first pass at the medians of all inputs says whether a plan is feasible and how many months it spans; the second
pass runs over the samples.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from core.months import Month
from estimates.engine.facts import FACTS
from estimates.engine.graph import Program, compile_program
from estimates.engine.leaves import Context, Leaf, input_leaf, leaf_array, leaf_quantile
from estimates.engine.needs import refuse_what_cannot_be_computed
from estimates.engine.price_leaves import COURSE, PRICES, acquisition_modes, price_leaf
from estimates.engine.quantities import QUANTITIES
from estimates.engine.reliability import INFEASIBLE_ABOVE
from estimates.engine.row_prices import POOLS, TIERS
from estimates.engine.sampling import Array
from estimates.engine.values import Baseline

MOST_MONTHS = 240
COURSES = tuple(
    f"{name}{COURSE}" for name in (*PRICES, TIERS.leaf, POOLS.leaf) if name not in PRICES or PRICES[name].by_month
)
"""Prices that may change while a plan runs, as leaves by month."""
TAIL_OVER_MEDIAN = 4.0
"""How much longer than its median the calendar shown reaches; what lies behind falls into the last month."""
PLANNED_IN_MONTHS = ("inference", "vector_store")
"""Tasks that last as long as was said, in every sample."""
PROGRAMS: dict[Hashable, Program] = {}
MOST_PROGRAMS = 500
FIGURES_OF_A_CARD = ("memory_gb", "bandwidth_gbs", "board_w", "interconnect_gbs")
"""What the catalogue may or may not know of an accelerator."""


@dataclass
class Evaluation:
    """Plans of one structure with the samples of every quantity."""

    contexts: list[Context]
    program: Program
    leaves: Mapping[str, list[Leaf]]
    middle: Mapping[str, Array]
    """The leaves at their medians, over 240 months; shape (plans, 1), with rows or months in front."""
    medians: Mapping[str, Array]
    """Every quantity with all inputs at their medians; shape (plans, 1)."""
    values: Mapping[str, Array]
    arrays: Mapping[str, Array]
    """The leaves as they went in."""
    samples: int
    months: int
    """How many months the calendar shows."""
    plain_medians: dict[str, list[float]] = field(default_factory=dict)
    """Medians that were asked for, as plain numbers."""
    plain_means: dict[str, list[float]] = field(default_factory=dict)
    """The same of means over the samples."""
    turns: dict[int, list[Any]] = field(default_factory=dict)
    """What sensitivity turns of each plan, once it was asked."""

    def array_of(self, name: str) -> Array:
        """The samples of a quantity: shape (1 or plans, 1 or samples), with rows or months in front."""
        array = np.asarray(self.values[name], dtype=float)
        return array.reshape(1, 1) if array.ndim == 0 else array

    def samples_of(self, name: str, plan: int) -> Array:
        """One plan's samples of a quantity: shape (1,) or (samples,), with rows or months in front."""
        array = self.array_of(name)
        return array[..., min(plan, array.shape[-2] - 1), :]

    def middle_of(self, name: str) -> Array:
        """A leaf at its median, over the months shown; a price of what nobody buys is zero, as in the samples."""
        array = self.middle[name]
        if self.leaves[name][0].fixed is not None:
            return array[: self.months]
        if name.startswith("price_") and np.isnan(array).any():
            return np.where(np.isnan(array), self.arrays[name][..., :1], array)
        return array

    def median_of(self, name: str, plan: int) -> float:
        """A quantity with all inputs at their medians; NaN where it is not there."""
        if name not in self.plain_medians:
            array = np.asarray(self.medians.get(name, np.nan), dtype=float)
            self.plain_medians[name] = array.reshape(-1).tolist()
        numbers = self.plain_medians[name]
        return numbers[min(plan, len(numbers) - 1)]

    def mean_of(self, name: str, plan: int) -> float:
        """The mean of a quantity over the samples; NaN where it is not there."""
        if name not in self.plain_means:
            self.plain_means[name] = self.array_of(name).mean(axis=-1).tolist() if name in self.values else [np.nan]
        numbers = self.plain_means[name]
        return numbers[min(plan, len(numbers) - 1)]

    @cached_property
    def run_hours_of_a_year(self) -> Array:
        """The mean of the accelerator-hours that fall in each of the first twelve months: shape (months, plans)."""
        return (self.array_of("run_month_share")[:12] * self.array_of("total_accelerator_hours")).mean(axis=-1)


def find_leaf(context: Context, name: str) -> Leaf | None:
    """The leaf of a name: a fact, a price, or an input of the plan."""
    if name not in context.cache:
        if name in FACTS:
            leaf = FACTS[name].find(context)
        elif name.removesuffix(COURSE) in PRICES:
            leaf = price_leaf(context, name)
        else:
            leaf = input_leaf(context, name)
        if leaf is not None and context.prefix:
            streams = tuple(f"{context.prefix}{stream}" if stream else "" for stream in leaf.streams)
            leaf = leaf._replace(streams=streams)
        context.cache[name] = leaf
    return context.cache[name]


def structure_of(context: Context) -> Hashable:
    """What two plans must share to be evaluated by one program."""
    plan = context.plan
    from_history = frozenset(path for path, value in plan.inputs.items() if isinstance(value, Baseline))
    words = frozenset((path, word) for path, word in plan.words.items() if "." in path)
    rows = tuple((path, len(found)) for path, found in sorted(plan.tables.items()))
    silent = frozenset((path, key) for path, found in plan.tables.items() for row in found for key in row)
    changing = frozenset(name for name in COURSES if find_leaf(context, name) is not None)
    zeros = frozenset(path for path in ("compute.mix.on_demand",) if plan.number(path) == 0)
    return (
        plan.task,
        frozenset(plan.inputs),
        from_history,
        words,
        rows,
        silent,
        plan.switched_off,
        frozenset(plan.days),
        tuple(len(set(weights)) for weights in plan.profiles.values()),
        frozenset(plan.flags.items()),
        acquisition_modes(context),
        changing,
        zeros,
        context.spec and frozenset(context.spec.peaks),
        tuple(getattr(context.spec, figure, None) is not None for figure in FIGURES_OF_A_CARD),
        frozenset(context.history.known),
    )


def program_of(context: Context) -> Program:
    """The quantities that apply to a plan; plans of one structure share a program."""
    if context.program is not None:
        return context.program
    structure = structure_of(context)
    program = PROGRAMS.get(structure)
    if program is None:
        if len(PROGRAMS) >= MOST_PROGRAMS:
            PROGRAMS.clear()
        program = compile_program(QUANTITIES, context.plan, lambda name: find_leaf(context, name) is not None)
        refuse_what_cannot_be_computed(context.plan, program, context.prefix)
        PROGRAMS[structure] = program
    context.program = program
    return program


def evaluate(contexts: Sequence[Context], samples: int) -> Evaluation:
    """Evaluate plans that share a program."""
    contexts = list(contexts)
    program = program_of(contexts[0])
    leaves = _leaves(contexts, program)
    middle = _at_medians(leaves)
    medians = program.run(middle)
    if _mark_infeasible(contexts, medians):
        leaves = _leaves(contexts, program)
        middle = _at_medians(leaves)
        medians = {**medians, **program.run(middle)}
    months = _months_shown(contexts, medians)
    arrays = {
        name: leaf_array(found, samples)[:months] if found[0].fixed is not None else leaf_array(found, samples)
        for name, found in leaves.items()
    }
    _forget_prices_of_nothing(contexts, arrays, medians)
    values = program.run(arrays)
    _forget_prices_never_reached(contexts, leaves, values)
    return Evaluation(contexts, program, leaves, middle, medians, values, arrays, samples, months)


def _leaves(contexts: Sequence[Context], program: Program) -> dict[str, list[Leaf]]:
    found: dict[str, list[Leaf]] = {}
    for name in program.leaves:
        leaves = [find_leaf(context, name) for context in contexts]
        found[name] = [leaf for leaf in leaves if leaf is not None]
        if len(found[name]) != len(contexts):
            raise ValueError(f"plans of one program must share the leaf {name}")
    return found


def _at_medians(leaves: Mapping[str, list[Leaf]]) -> dict[str, Array]:
    return {name: leaf_quantile(found, 0.5) for name, found in leaves.items()}


def _forget_prices_of_nothing(
    contexts: Sequence[Context], arrays: dict[str, Array], medians: Mapping[str, Array]
) -> None:
    """A missing price of something that is not bought is no gap: it counts as zero, and is not reported."""
    for name, price in PRICES.items():
        if not price.of or name not in arrays:
            continue
        bought = np.zeros((len(contexts), 1))
        for amount in price.of:
            bought = bought + medians.get(amount, 0.0)
        nothing = bought[:, 0] == 0
        arrays[name] = np.where(nothing[:, None], 0.0, arrays[name])
        for context, needless in zip(contexts, nothing, strict=True):
            if needless:
                context.uses.pop(name, None)


def _forget_prices_never_reached(
    contexts: Sequence[Context], leaves: Mapping[str, list[Leaf]], values: Mapping[str, Array]
) -> None:
    """Prices that begin when all samples of a plan are over have no part in it; the question for them stays asked."""
    changing = [name.removesuffix(COURSE) for name in COURSES if name in leaves]
    if not changing or "run_month_share" not in values:
        return
    reached = np.any(np.asarray(values["run_month_share"]) > 0.0, axis=-1)
    for index, context in enumerate(contexts):
        months = np.flatnonzero(reached[:, min(index, reached.shape[1] - 1)])
        if months.size == 0:
            continue
        last = max((Month.of(context.start) + int(months[-1])).start, context.start, context.prices_on)
        for name in changing:
            uses = context.uses.get(name, [])
            context.uses[name] = [use for use in uses if use.row is None or use.row.valid_from <= last]


def _mark_infeasible(contexts: Sequence[Context], medians: Mapping[str, Array]) -> bool:
    """Whether any plan loses more than half its time at the medians. Such a plan's hours are then not known."""
    if "first_order_loss" not in medians or "feasibility" not in medians:
        return False
    loss = np.broadcast_to(medians["first_order_loss"], (len(contexts), 1))[:, 0]
    for context, lost in zip(contexts, loss, strict=True):
        context.feasible = not lost > INFEASIBLE_ABOVE
        context.cache.pop("feasibility", None)
    return not all(context.feasible for context in contexts)


def _months_shown(contexts: Sequence[Context], medians: Mapping[str, Array]) -> int:
    """Enough months for every plan, its archive included."""
    hours = float(np.nan_to_num(np.max(medians["project_hours"]))) if "project_hours" in medians else 0.0
    after = (
        float(np.nan_to_num(np.max(medians["warm_hours"] - medians["project_hours"])))
        if "warm_hours" in medians
        else 0.0
    )
    archived = float(np.max(medians["archive_hours"])) if "archive_hours" in medians else 0.0
    people = float(np.max(medians.get("people__months", np.zeros(1))))
    tail = 1.0 if contexts[0].plan.task in PLANNED_IN_MONTHS else TAIL_OVER_MEDIAN
    longest = max((hours * tail + after + archived) / 730.0, people, 1.0)
    return int(min(np.ceil(longest) + 1, MOST_MONTHS))
