"""Naming units, events, guarantees and ledgers loads no numerical library."""

from __future__ import annotations

import subprocess
import sys

import pytest

from discreet.domain.lazy import LazyModule

HEAVY = {"cryptography", "mpmath", "numba", "numpy", "scipy"}


@pytest.mark.parametrize(
    "name",
    [
        "discreet.domain",
        "discreet.privacy",
        "discreet.privacy.accounting",
        "discreet.privacy.ledger",
    ],
)
def test_the_nouns_load_no_library(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {name}; print(*sys.modules)"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert HEAVY & set(done.stdout.split()) == set()


def test_a_lazy_module_has_the_names_of_the_module() -> None:
    lazy = LazyModule("fractions")
    assert vars(lazy) == {"_name": "fractions"}
    assert lazy.Fraction(1, 2) == 0.5
    assert "Fraction" in vars(lazy)
    with pytest.raises(AttributeError):
        lazy.nothing  # noqa: B018


def test_a_lazy_module_is_never_one_of_ours() -> None:
    with pytest.raises(AssertionError):
        LazyModule("discreet.ratings")
