"""Terms as an operator tells them: which is missing, which is wrong, what would be right."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import InputError, Scale
from discreet.protocols import servers
from serve._running import make_catalog

LAPLACE = {"mechanism": "modified-laplace"}
USUAL: dict[str, dict[str, Any]] = {
    "local-reports": LAPLACE | {"epsilon": "1"},
    "open-clusters": {},
}


def make(name: str, terms: dict[str, Any]) -> Any:
    return servers.find(name).from_terms(make_catalog(100), Scale(1, 5), terms).collection


def test_numbers_may_be_text_and_text_may_look_like_a_number() -> None:
    local = make("local-reports", LAPLACE | {"epsilon": "0.125", "epoch": "7"})
    assert (local.epsilon, local.epoch) == (0.125, 7)
    assert make("local-reports", LAPLACE | {"epsilon": "1", "period": "7"}).epoch == 7
    assert make("open-clusters", {"period": 3}).epoch == 3
    assert make("local-reports", {"epsilon": 1}).epsilon == 1.0
    assert make("local-reports", {"epsilon": 1}).mechanism == "rounded-response"
    clusters = make("open-clusters", {"beacon": "2024", "bits": "3", "bit_epsilon": "1.5"})
    assert (clusters.beacon, clusters.bits) == ("2024", 3)
    assert (clusters.bit_epsilon_thousandths, clusters.bit_epsilon) == (1500, 1.5)
    assert make("open-clusters", {"bit_epsilon_thousandths": 1500}).bit_epsilon == 1.5


@pytest.mark.parametrize(
    ("name", "terms", "about"),
    [
        ("local-reports", {}, "'local-reports' needs the term 'epsilon', like epsilon=1"),
        ("local-reports", {"colour": "red"}, "no term 'colour'; it has mechanism, epsilon, period"),
        ("local-reports", LAPLACE | {"epsilon": "much"}, "'epsilon' is a number, not 'much'"),
        ("local-reports", LAPLACE | {"epsilon": True}, "'epsilon' is a number, not True"),
        ("local-reports", LAPLACE | {"epsilon": "NaN"}, "'epsilon' is a number"),
        (
            "local-reports",
            LAPLACE | {"epsilon": "99"},
            "from 0.01 to 50, with three decimals at most",
        ),
        ("local-reports", LAPLACE | {"epsilon": "1.0005"}, "three decimals at most, not 1.0005"),
        ("local-reports", LAPLACE | {"epsilon": "1", "epoch": "1.5"}, "'period' is a whole number"),
        (
            "local-reports",
            {"epsilon": "1", "epoch": "2", "period": "2"},
            "the term 'period' is given twice",
        ),
        (
            "local-reports",
            {"epsilon": "1", "mechanism": "dice"},
            "one of rounded-response, randomized",
        ),
        ("local-reports", {"epsilon": "1", "mechanism": 5}, "'mechanism' is a text, not 5"),
        ("open-clusters", {"bit_epsilon": "701"}, "'bit_epsilon' should be a number from 0 to 700"),
        (
            "open-clusters",
            {"bit_epsilon": "0.00001"},
            "'bit_epsilon' is a number with three decimals",
        ),
        (
            "open-clusters",
            {"bit_epsilon": 1, "bit_epsilon_thousandths": 1},
            "'bit_epsilon' is given twice",
        ),
        (
            "open-clusters",
            {"fakes": "few"},
            "the term 'fakes' should be one of around-mean, uniform",
        ),
        (
            "open-clusters",
            {"fake_percent": "2000"},
            "the term 'fake_percent' should be a whole number",
        ),
        ("open-clusters", {"bits": "17"}, "1 to 16 bits"),
        ("postal", {}, "there is no protocol 'postal'; there are closed-clusters, local-reports"),
        ("closed-clusters", {}, "'closed-clusters' needs the directory that the authority signed"),
    ],
)
def test_what_is_wrong_is_named_and_what_would_be_right(
    name: str, terms: dict[str, Any], about: str
) -> None:
    with pytest.raises(InputError) as caught:
        make(name, terms)
    assert about in str(caught.value)
    assert "thousandths" not in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("name", ["local-reports", "open-clusters"])
def test_the_documentation_has_every_term_and_its_default(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
    row = next(
        line for line in page.read_text("utf-8").splitlines() if line.startswith(f"| `{name}` |")
    )
    for term, parameter in signature(type(make(name, USUAL[name]))).parameters.items():
        if term in ("catalog", "scale"):
            continue
        shown = "period" if term == "epoch" else term.removesuffix("_thousandths")
        required = parameter.default is parameter.empty
        said = USUAL[name].get(shown) if required else parameter.default
        # Epsilon has no default, and that of the mechanism follows from the other terms.
        is_free = shown in ("epsilon", "mechanism")
        assert f"`{shown}`" in row if is_free else f"`{shown}={said}`" in row, shown
