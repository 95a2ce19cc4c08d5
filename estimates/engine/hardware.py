"""What a plan asks for, held against the catalogue: unknown accelerators, and what cannot be computed, are refused."""

from __future__ import annotations

from datetime import date

from estimates.engine.books import AcceleratorBook, PriceBook
from estimates.engine.evaluation import program_of
from estimates.engine.leaves import Context
from estimates.engine.messages import Phrase, PlanFault, plan_fault
from estimates.engine.peaks import peak_of, peak_precision
from estimates.engine.plan import Plan, PlanRefused

NO_PRICES = PriceBook()
ANY_DAY = date(2000, 1, 1)
HARDWARE = (Phrase("hardware"),)


def refuse_unknown_hardware(plan: Plan, accelerators: AcceleratorBook) -> None:
    """PlanRefused where the catalogue lacks the accelerator or its peak and the plan does not give one, or where a
    figure lacks without which a cost of the plan cannot be computed. Prices do not matter here."""
    refuse_missing_hardware(plan, accelerators)
    for prefix, part in parts_of(plan):
        program_of(Context(part, NO_PRICES, accelerators, ANY_DAY, prefix=prefix))


def refuse_missing_hardware(plan: Plan, accelerators: AcceleratorBook) -> None:
    """PlanRefused where the catalogue lacks the accelerator or its peak and the plan does not give one."""
    faults = hardware_faults(plan, accelerators)
    if faults:
        raise PlanRefused(faults)


def parts_of(plan: Plan) -> list[tuple[str, Plan]]:
    """The plan, or the members of a life plan, each with its place in the document."""
    if not plan.members:
        return [("", plan)]
    return [(f"members.{index}.", member.plan) for index, member in enumerate(plan.members)]


def hardware_faults(plan: Plan, accelerators: AcceleratorBook, prefix: str = "") -> list[PlanFault]:
    """All of them, the members of a life plan included."""
    faults = []
    precision = peak_precision(plan)
    if "compute.peak_tflops" not in plan.inputs:
        faults += _slug_faults(
            f"{prefix}compute.accelerator",
            plan.text("compute.accelerator"),
            precision,
            f"{prefix}compute.precision",
            accelerators,
        )
    for index, row in enumerate(plan.rows("compute.pools")):
        if "peak_tflops" not in row:
            place = f"{prefix}compute.pools.{index}"
            slug, wanted = row.get("accelerator"), row.get("precision", precision)
            faults += _slug_faults(
                f"{place}.accelerator", str(slug) if slug else None, str(wanted), f"{place}.precision", accelerators
            )
    for index, member in enumerate(plan.members):
        faults += hardware_faults(member.plan, accelerators, f"{prefix}members.{index}.")
    return faults


def _slug_faults(
    path: str, slug: str | None, precision: str, precision_path: str, accelerators: AcceleratorBook
) -> list[PlanFault]:
    if slug is None:
        return []
    spec = accelerators.find(slug)
    if spec is None:
        return [plan_fault(path, slug, "accelerator_unknown", HARDWARE)]
    if peak_of(spec, precision) is None:
        known = ", ".join(sorted(spec.peaks))
        allowed = (Phrase("precision", {"words": known}),)
        return [
            plan_fault(
                precision_path, precision, "precision_unknown", allowed, accelerator=spec.name, precision=precision
            )
        ]
    return []
