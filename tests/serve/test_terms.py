"""Terms as an operator tells them: which is missing, which is wrong, what would be right."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import InputError, Scale
from discreet.serve import Collector
from serve._running import make_catalog

LAPLACE = {"mechanism": "modified-laplace"}
USUAL: dict[str, dict[str, Any]] = {"local": LAPLACE | {"epsilon": "1"}, "open": {}}


def make(kind: str, terms: dict[str, Any]) -> Any:
    return Collector.make(kind, make_catalog(100), Scale(1, 5), terms).collection


def test_numbers_may_be_text_and_text_may_look_like_a_number() -> None:
    local = make("local", LAPLACE | {"epsilon": "0.125", "epoch": "7"})
    assert (local.epsilon, local.epoch) == (0.125, 7)
    assert make("local", {"epsilon": 1}).epsilon == 1.0
    assert make("local", {"epsilon": 1}).mechanism == "modified-laplace"
    clusters = make("open", {"beacon": "2024", "bits": "3", "bit_epsilon": "1.5"})
    assert (clusters.beacon, clusters.bits) == ("2024", 3)
    assert (clusters.bit_epsilon_thousandths, clusters.bit_epsilon) == (1500, 1.5)
    assert make("open", {"bit_epsilon_thousandths": 1500}).bit_epsilon == 1.5


@pytest.mark.parametrize(
    ("kind", "terms", "about"),
    [
        ("local", {}, "'local' needs the term 'epsilon', like epsilon=1"),
        ("local", {"colour": "red"}, "no term 'colour'; it has mechanism, epsilon, epoch"),
        ("local", LAPLACE | {"epsilon": "much"}, "'epsilon' is a number, not 'much'"),
        ("local", LAPLACE | {"epsilon": True}, "'epsilon' is a number, not True"),
        ("local", LAPLACE | {"epsilon": "NaN"}, "'epsilon' is a number"),
        ("local", LAPLACE | {"epsilon": "99"}, "from 0.01 to 50, with three decimals at most"),
        ("local", LAPLACE | {"epsilon": "1.0005"}, "three decimals at most, not 1.0005"),
        ("local", LAPLACE | {"epsilon": "1", "epoch": "1.5"}, "'epoch' is a whole number"),
        ("local", {"epsilon": "1", "mechanism": "dice"}, "one of modified-laplace, randomized"),
        ("local", {"epsilon": "1", "mechanism": 5}, "'mechanism' is a text, not 5"),
        ("open", {"bit_epsilon": "701"}, "'bit_epsilon' should be a number from 0 to 700"),
        ("open", {"bit_epsilon": "0.00001"}, "'bit_epsilon' is a number with three decimals"),
        ("open", {"bit_epsilon": 1, "bit_epsilon_thousandths": 1}, "'bit_epsilon' is told twice"),
        ("open", {"fakes": "few"}, "the term 'fakes' should be one of around-mean, uniform"),
        ("open", {"fake_percent": "2000"}, "the term 'fake_percent' should be a whole number"),
        ("open", {"bits": "17"}, "1 to 16 bits"),
        ("postal", {}, "no protocol; there are local, open"),
        ("closed", {}, "'closed' needs a directory and keys: see ClosedCollector.from_files"),
    ],
)
def test_what_is_wrong_is_named_and_what_would_be_right(
    kind: str, terms: dict[str, Any], about: str
) -> None:
    with pytest.raises(InputError) as caught:
        make(kind, terms)
    assert about in str(caught.value)
    assert "thousandths" not in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("kind", ["local", "open"])
def test_the_documentation_has_every_term_and_its_default(kind: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "service.md"
    row = next(
        line for line in page.read_text("utf-8").splitlines() if line.startswith(f"| `{kind}` |")
    )
    for name, parameter in signature(type(make(kind, USUAL[kind]))).parameters.items():
        if name in ("catalog", "scale"):
            continue
        term = name.removesuffix("_thousandths")
        required = parameter.default is parameter.empty
        said = USUAL[kind].get(term) if required else parameter.default
        assert f"`{term}`" in row if term == "epsilon" else f"`{term}={said}`" in row, term
