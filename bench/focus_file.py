"""Write large FOCUS files that look like a month of a busy account: 46 columns, hourly rows, tags, commitments.

The same seed and size give the same bytes. `shuffled` writes the rows in another order with other line ends;
`changed` changes the cost of every n-th row.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

COLUMNS = (
    "AvailabilityZone BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd"
    " BillingPeriodStart CapacityReservationId CapacityReservationStatus ChargeCategory ChargeClass ChargeDescription"
    " ChargeFrequency ChargePeriodEnd ChargePeriodStart CommitmentDiscountCategory CommitmentDiscountId"
    " CommitmentDiscountName CommitmentDiscountStatus CommitmentDiscountType ConsumedQuantity ConsumedUnit"
    " ContractedCost ContractedUnitPrice EffectiveCost InvoiceIssuerName ListCost ListUnitPrice PricingCategory"
    " PricingQuantity PricingUnit ProviderName PublisherName RegionId RegionName ResourceId ResourceName ResourceType"
    " ServiceCategory ServiceName ServiceSubcategory SkuId SkuPriceId SubAccountId SubAccountName Tags"
).split()
ROWS_PER_MONTH = 1_000_000
HOURS = 200
SERVICES = (
    ("Compute", "Elastic Compute", "Virtual Machines", "Hours", "3.0600000000"),
    ("AI and Machine Learning", "Model Training", "Machine Learning Platforms", "Hours", "32.7726000000"),
    ("Storage", "Object Storage", "Object Storage", "GB-Month", "0.0230000000"),
    ("Networking", "Data Transfer", "Network Infrastructure", "GB", "0.0900000000"),
    ("Databases", "Relational Database", "Relational Databases", "Hours", "0.4800000000"),
)
TEAMS = ("foundation", "search", "speech", "vision", "platform")


class Account:
    """The resources of one payer, each with what its rows repeat."""

    def __init__(self, seed: int, resources: int) -> None:
        pick = random.Random(seed)
        self.resources = [self._resource(pick, number) for number in range(resources)]

    @staticmethod
    def _resource(pick: random.Random, number: int) -> dict[str, str]:
        category, service, sub, unit, price = SERVICES[number % len(SERVICES)]
        region = f"us-east-{number % 3 + 1}"
        team = pick.choice(TEAMS)
        covered = number % 7 == 0 and unit == "Hours"
        return {
            "AvailabilityZone": region + pick.choice("abc"),
            "BillingAccountId": "000123456789",
            "BillingAccountName": "Example payer",
            "BillingCurrency": "USD",
            "ChargeCategory": "Usage",
            "ChargeDescription": f"${price} per {unit} of {service} in {region}",
            "ChargeFrequency": "Usage-Based",
            "CommitmentDiscountCategory": "Spend" if covered else "",
            "CommitmentDiscountId": f"arn:example:savings:{number % 11:04d}" if covered else "",
            "CommitmentDiscountStatus": "Used" if covered else "",
            "CommitmentDiscountType": "Savings Plan" if covered else "",
            "ConsumedUnit": unit,
            "ContractedUnitPrice": price,
            "InvoiceIssuerName": "Example Cloud, Inc.",
            "ListUnitPrice": price,
            "PricingCategory": "Committed" if covered else "Standard",
            "PricingUnit": unit,
            "ProviderName": "Example Cloud",
            "PublisherName": "Example Cloud",
            "RegionId": region,
            "RegionName": "US East",
            "ResourceId": f"arn:example:{service.lower()[:7]}:{region}:instance/i-{pick.getrandbits(64):016x}",
            "ResourceName": f"node-{number:05d}",
            "ResourceType": sub,
            "ServiceCategory": category,
            "ServiceName": service,
            "ServiceSubcategory": sub,
            "SkuId": f"SKU{number % 400:05d}",
            "SkuPriceId": f"SKU{number % 400:05d}.P1",
            "SubAccountId": f"{100000000000 + number % 40:012d}",
            "SubAccountName": f"{team}-{number % 40:02d}",
            "Tags": json.dumps({"team": team, "env": pick.choice(("prod", "dev")), "owner": f"group-{number % 90}"}),
        }


def rows(count: int, *, seed: int = 7, changed: int = 0) -> Iterator[list[str]]:
    """`count` rows over as many months as they fill; with `changed`, every n-th row costs a cent more."""
    for month in range((count + ROWS_PER_MONTH - 1) // ROWS_PER_MONTH):
        size = min(ROWS_PER_MONTH, count - month * ROWS_PER_MONTH)
        yield from _month(month, size, seed, changed)


def _month(month: int, size: int, seed: int, changed: int) -> Iterator[list[str]]:
    account = Account(seed, max(1, min(ROWS_PER_MONTH, size) // HOURS + 1))
    begin = datetime(2026 + month // 12, month % 12 + 1, 1)
    end = datetime(2026 + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    period = {"BillingPeriodStart": f"{begin:%Y-%m-%dT%H:%M:%SZ}", "BillingPeriodEnd": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
    fixed = [{**resource, **period} for resource in account.resources]
    pick = random.Random(seed + month)
    hours = int((end - begin).total_seconds()) // 3600
    for number in range(size):
        resource = fixed[number % len(fixed)]
        start = begin + timedelta(hours=number // len(fixed) % hours)
        quantity = pick.randrange(1, 10_000_000)
        cost = quantity * int(resource["ListUnitPrice"].replace(".", ""))
        if changed and number % changed == 0:
            cost += 10**16
        billed = "0" if resource["CommitmentDiscountStatus"] else exact(cost)
        row = {
            **resource,
            "BilledCost": billed,
            "ChargePeriodStart": f"{start:%Y-%m-%dT%H:%M:%SZ}",
            "ChargePeriodEnd": f"{start + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
            "ConsumedQuantity": exact(quantity, 6),
            "PricingQuantity": exact(quantity, 6),
            "ContractedCost": exact(cost),
            "EffectiveCost": exact(cost),
            "ListCost": exact(cost),
        }
        yield [row.get(column, "") for column in COLUMNS]


def exact(units: int, digits: int = 16) -> str:
    """`units` of 10^-digits as a plain decimal."""
    text = f"{units:0{digits + 1}d}"
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


class Stream:
    """The plain file as something to read from: generated as it is asked for, nowhere on disk."""

    def __init__(self, count: int) -> None:
        self._rows = itertools.chain([COLUMNS], rows(count))
        self._ready = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._ready) < size:
            batch = list(itertools.islice(self._rows, 1_000))
            if not batch:
                break
            block = io.StringIO(newline="")
            csv.writer(block, lineterminator="\n").writerows(batch)
            self._ready += block.getvalue().encode()
        found, self._ready = (self._ready, b"") if size < 0 else (self._ready[:size], self._ready[size:])
        return found


def write(path: Path, count: int, *, shuffled: bool = False, changed: int = 0) -> None:
    """Write the file; `shuffled` reverses the order of the rows in blocks and ends lines with CRLF."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\r\n" if shuffled else "\n")
        writer.writerow(COLUMNS)
        if not shuffled:
            writer.writerows(rows(count, changed=changed))
            return
        block: list[list[str]] = []
        for row in rows(count, changed=changed):
            block.append(row)
            if len(block) == 50_000:
                random.Random(len(block)).shuffle(block)
                writer.writerows(block)
                block = []
        random.Random(len(block)).shuffle(block)
        writer.writerows(block)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--changed", type=int, default=0, help="change every n-th row")
    options = parser.parse_args()
    write(options.path, options.rows, shuffled=options.shuffled, changed=options.changed)
