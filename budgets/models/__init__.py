"""Django finds an app's models here: lines, proposals, approval, ledger."""

from .approval import ApprovalRule, ApprovalStep, Decision, DecisionLine, Delegation, InputComment
from .assets import Asset, AssetCharge, AssetUse
from .closing import ClosedCost, LineClosing
from .holds import Hold
from .hours import ClosedHours, HoursEntry
from .ledger import ClosedPromise, Entry
from .lines import BudgetLine, Threshold, TouchedLine
from .proposals import AskHours, AskLine, Proposal, ProposalVersion
from .stops import Stop

__all__ = [
    "ApprovalRule",
    "ApprovalStep",
    "AskHours",
    "AskLine",
    "Asset",
    "AssetCharge",
    "AssetUse",
    "BudgetLine",
    "ClosedCost",
    "ClosedHours",
    "ClosedPromise",
    "Decision",
    "DecisionLine",
    "Delegation",
    "Entry",
    "Hold",
    "HoursEntry",
    "InputComment",
    "LineClosing",
    "Proposal",
    "ProposalVersion",
    "Stop",
    "Threshold",
    "TouchedLine",
]
