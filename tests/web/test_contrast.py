"""Words can be read and marks can be told apart, in both themes: contrast computed from the tokens themselves."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css"
LIGHT, DARK = 0, 1

WORDS = [
    *[
        ("text", ground)
        for ground in ("ground", "surface", "raised", "ok-soft", "warn-soft", "over-soft", "accent-soft")
    ],
    *[("muted", ground) for ground in ("ground", "surface", "raised", "warn-soft", "ok-soft", "over-soft")],
    *[
        ("accent", ground)
        for ground in ("ground", "surface", "raised", "accent-soft", "warn-soft", "over-soft", "ok-soft")
    ],
    ("on-accent", "accent"),
    ("ok-text", "ok-soft"),
    ("warn-text", "warn-soft"),
    ("over-text", "over-soft"),
    ("ok-text", "surface"),
    ("warn-text", "surface"),
    ("over-text", "surface"),
    ("over-text", "raised"),
]
MARKS = [
    ("actual", "surface"),
    ("forecast", "surface"),
    ("warn", "surface"),
    ("over", "surface"),
    ("ok", "surface"),
    ("plan", "surface"),
    ("text", "surface"),
    ("edge", "surface"),
]
APART = [("actual", "committed"), ("actual", "raised"), ("committed", "raised")]

Colour = tuple[float, float, float]
"""OKLab."""


def tokens() -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+):\s*([^;]+);", TOKENS.read_text()))


def colour(name: str, theme: int) -> Colour:
    value = tokens()[name].strip()
    if value.startswith("light-dark("):
        return oklab(re.findall(r"oklch\([^)]*\)", value)[theme])
    first, share, second = re.fullmatch(
        r"color-mix\(in oklab, var\(--([a-z-]+)\) (\d+)%, var\(--([a-z-]+)\)\)", value
    ).groups()
    weight = int(share) / 100
    return tuple(
        one * weight + other * (1 - weight)
        for one, other in zip(colour(first, theme), colour(second, theme), strict=True)
    )


def oklab(text: str) -> Colour:
    lightness, chroma, hue = (float(part) for part in re.findall(r"[\d.]+", text)[:3])
    return lightness, chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))


def luminance(of: Colour) -> float:
    """Relative luminance of WCAG: OKLab to linear sRGB (the published matrices), clipped, then weighted."""
    lightness, a, b = of
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short
    return sum(
        weight * min(max(part, 0.0), 1.0)
        for weight, part in zip((0.2126, 0.7152, 0.0722), (red, green, blue), strict=True)
    )


def contrast(one: str, other: str, theme: int) -> float:
    bright, dim = sorted((luminance(colour(name, theme)) for name in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_white_on_black_is_21_to_1():
    assert luminance(oklab("oklch(1 0 0)")) == pytest.approx(1, abs=1e-4)
    assert luminance(oklab("oklch(0 0 0)")) == 0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("words", "ground"), WORDS)
def test_words_have_a_contrast_of_four_and_a_half(words, ground, theme):
    assert contrast(words, ground, theme) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("mark", "ground"), MARKS)
def test_marks_and_borders_of_fields_have_a_contrast_of_three(mark, ground, theme):
    assert contrast(mark, ground, theme) >= 3


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("one", "other"), APART)
def test_neighbours_in_the_bar_part_in_greyscale(one, other, theme):
    assert contrast(one, other, theme) >= 1.5
