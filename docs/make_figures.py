"""Draws the pictures that the documentation shows into docs/figures."""

from __future__ import annotations

from pathlib import Path

from discreet.cli import demo

FIGURES = Path(__file__).parent / "figures"

if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    demo.draw(FIGURES / "budgets.png")
