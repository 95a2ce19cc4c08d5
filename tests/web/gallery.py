"""Every component on one page, for judging by eye and for the browser tests; never part of the product."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template import RequestContext, Template
from django.urls import include, path

from web.charts.breakdown import Driver, Outcome
from web.charts.burn import Burn, ForecastPoint


class ExampleForm(forms.Form):
    task = forms.ChoiceField(label="Task", choices=[("pretrain", "Pretraining")])
    finish_by = forms.DateField(label="Finish by")
    accepted_when = forms.CharField(label="Accepted when", help_text="the red line no saving may cross")
    tokens = forms.DecimalField(label="Tokens")
    sure = forms.BooleanField(label="I know what I do", required=False)
    file = forms.FileField(label="Usage file")


@dataclass(frozen=True)
class ExampleLine:
    name: str
    budget: Decimal
    actual: Decimal
    committed: Decimal
    forecast: SimpleNamespace | None
    kind: str
    word: str

    @property
    def headroom(self) -> Decimal:
        return self.budget - self.actual - self.committed


def line(
    name: str, money: tuple[int, int, int], ends: tuple[int, int, int] | None, kind: str, word: str
) -> ExampleLine:
    budget, actual, committed = (Decimal(amount) for amount in money)
    shares = None
    if ends:
        shares = SimpleNamespace(
            **{key: budget * end / 100 for key, end in zip(("p10", "p50", "p90"), ends, strict=True)}
        )
    return ExampleLine(name, budget, actual, committed, shares, kind, word)


LINES = [
    line("Compute", (1240000, 1021300, 164000), (95, 101, 109), "warn", "forecast past limit"),
    line("Storage", (86000, 38900, 9000), (62, 68, 75), "ok", "on track"),
    line("Data", (210000, 171600, 4000), (83, 86, 90), "warn", "warning line passed"),
    line("Network and interconnect", (24000, 25180, 0), (108, 112, 117), "over", "overrun"),
    line("People and platform", (320000, 190000, 180000), (93, 95, 97), "over", "short of money"),
    line("Power and facility", (1000, 4000, 0), None, "over", "overrun"),
    line("Contingency", (0, 0, 0), None, "", "no budget"),
]
START = date(2026, 10, 1)
BURN = Burn(
    start=START,
    end=date(2027, 2, 1),
    currency="USD",
    limit=Decimal(1240000),
    warning_share=Decimal("0.8"),
    actual=[(START + timedelta(days=day), Decimal(17310) * day + Decimal(day % 9) * 4000) for day in range(60)],
    plan=[(START + timedelta(days=day), Decimal(1180000) * day / 123) for day in (0, 31, 61, 92, 123)],
    forecast=[
        ForecastPoint(
            START + timedelta(days=day),
            Decimal(1021300 + 2400 * (day - 59)),
            Decimal(1021300 + 3600 * (day - 59)),
            Decimal(1021300 + 5200 * (day - 59)),
        )
        for day in range(60, 124)
    ],
)


def gallery(request: HttpRequest) -> HttpResponse:
    words = {
        "lines": LINES,
        "burn": BURN,
        "form": ExampleForm({"accepted_when": "MMLU ≥ 0.62", "tokens": "many"}),
        "sparks": [0.9, 0.88, 0.91, 0.7, 0.86, 0.89, 0.884],
        "shares": [("people", 41), ("compute", 27), ("data", 20), ("hidden", 9), ("network", 3)],
        "drivers": [
            Driver("people, months", 540000, 660000),
            Driver("raw data, TB", 550000, 640000),
            Driver("MFU", 620000, 570000),
            Driver("price of an accelerator-hour of a very long name", 575000, 612000),
        ],
        "outcomes": [
            Outcome("Base-3B v2", 120000, 330000, 322000, "12 % above P50"),
            Outcome("Code-7B", 300000, 450000, 380000, "inside"),
            Outcome("Base-7B v1", 340000, 500000, 860000, "repeated once"),
        ],
        "page": Paginator(range(1200), 50).get_page(request.GET.get("page", 7)),
    }
    template = Template((Path(__file__).parent / "gallery.html").read_text())
    return HttpResponse(template.render(RequestContext(request, words)))


urlpatterns = [path("styles/", gallery), path("", include("config.urls"))]
