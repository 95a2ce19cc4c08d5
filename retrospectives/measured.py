"""What was measured of a finished run, and what follows from it for the next estimate. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext

from estimates.baselines.bounds import is_possible
from estimates.baselines.models import BaselineQuantity

HOUR = Decimal(3600)
ROUNDING = Decimal("1.02")
ONE = Decimal(1)


@dataclass(frozen=True)
class Measured:
    """What people and logs say of a run; None where it was not measured."""

    accelerator_hours: Decimal | None = None
    """All that was billed: main run, experiments, evaluation, idle."""
    experiment_share: Decimal | None = None
    """The part of these that went into experiments."""
    mfu: Decimal | None = None
    goodput: Decimal | None = None
    """Productive hours ÷ paid hours of the main run; rollback counts as lost."""
    rollback_share: Decimal | None = None
    """Steps that ran and were thrown away, of all that ran."""
    interruptions: Decimal | None = None
    price_per_accelerator_hour: Decimal | None = None


MEASURED = tuple(field.name for field in fields(Measured))


@dataclass(frozen=True)
class Planned:
    """What the approved plan reckoned with, at its medians; None where it had no such quantity."""

    training_flops: Decimal | None = None
    peak_flops_per_second: Decimal | None = None
    ideal_accelerator_hours: Decimal | None = None
    mfu: Decimal | None = None
    hourly_rate: Decimal | None = None


def lessons(measured: Measured, planned: Planned) -> dict[str, Decimal]:
    """The figures that can be told from what was measured, by quantity."""
    with localcontext() as context:
        context.prec = 28
        found = {
            BaselineQuantity.MFU: measured.mfu,
            BaselineQuantity.GOODPUT: measured.goodput,
            BaselineQuantity.ROLLBACK_SHARE: measured.rollback_share,
            BaselineQuantity.PAID_MFU: paid_mfu(measured, planned),
            BaselineQuantity.MTBF: ratio(main_hours(measured), measured.interruptions),
            BaselineQuantity.EXPERIMENT_RATIO: experiment_ratio(measured),
            BaselineQuantity.PRICE_VARIANCE: ratio(measured.price_per_accelerator_hour, planned.hourly_rate),
            **factors(measured, planned),
        }
        kept = {str(quantity): rounded(value) for quantity, value in found.items() if value is not None}
    return {quantity: value for quantity, value in kept.items() if is_possible(quantity, value)}


def factors(measured: Measured, planned: Planned) -> dict[BaselineQuantity, Decimal | None]:
    """retries × rollback × experiments × rest = the redundancy factor."""
    kept = None if measured.rollback_share is None else ONE - measured.rollback_share
    machine = ratio(measured.goodput, kept if kept is not None else ONE)
    retries, rollback = ratio(ONE, machine), ratio(ONE, kept)
    share = experiment_ratio(measured)
    experiments = None if share is None else ONE + share
    whole = ratio(measured.accelerator_hours, ideal_hours(measured, planned))
    rest = None
    if whole and retries and experiments:
        rest = whole / (retries * (rollback or ONE) * experiments)
    return {
        BaselineQuantity.RETRY_FACTOR: retries,
        BaselineQuantity.ROLLBACK_FACTOR: rollback,
        BaselineQuantity.EXPERIMENT_FACTOR: experiments,
        BaselineQuantity.REST_FACTOR: rest,
        BaselineQuantity.REDUNDANCY: whole,
    }


def main_hours(measured: Measured) -> Decimal | None:
    """Hours of the main run: all but the experiments. Not known where the experiments are not."""
    if measured.accelerator_hours is None or measured.experiment_share is None:
        return None
    return measured.accelerator_hours * (ONE - measured.experiment_share)


def experiment_ratio(measured: Measured) -> Decimal | None:
    """Experiments ÷ main run."""
    share = measured.experiment_share
    return None if share is None else ratio(share, ONE - share)


def paid_mfu(measured: Measured, planned: Planned) -> Decimal | None:
    """Operations of the plan ÷ (hours of the main run · peak)."""
    hours = main_hours(measured)
    if hours is None or planned.peak_flops_per_second is None:
        return None
    return ratio(planned.training_flops, hours * planned.peak_flops_per_second * HOUR)


def fewest_hours(measured: Measured, planned: Planned) -> Decimal | None:
    """Hours in which the planned operations can be done at all: at the peak, or at the MFU that was measured.

    An MFU of running steps may count attention, so paid hours never do better; a fiftieth is left for rounding.
    """
    if not planned.training_flops or not planned.peak_flops_per_second:
        return None
    reached = min(ONE, measured.mfu * ROUNDING) if measured.mfu else ONE
    return planned.training_flops / (planned.peak_flops_per_second * reached * HOUR)


def ideal_hours(measured: Measured, planned: Planned) -> Decimal | None:
    """What the run would have taken without any loss, at the MFU that was measured; the planned one without it."""
    reached = ONE if measured.mfu is None else ratio(planned.mfu, measured.mfu)
    return (
        None
        if planned.ideal_accelerator_hours is None or reached is None
        else planned.ideal_accelerator_hours * reached
    )


def ratio(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or not other else one / other


def rounded(value: Decimal) -> Decimal:
    """To what a baseline keeps."""
    return value.quantize(Decimal("1E-10"))


def planned_in(quantities: Mapping[str, Mapping[str, float | None]]) -> Planned:
    """The figures of an answer that lessons are held against."""
    medians = {name: (quantities.get(name) or {}).get("p50") for name in (field.name for field in fields(Planned))}
    return Planned(**{name: None if value is None else Decimal(repr(value)) for name, value in medians.items()})
