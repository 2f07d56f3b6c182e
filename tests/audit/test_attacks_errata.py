"""The counter-examples to the papers' claims, and that docs/errata.md prints these numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from discreet.audit._counterexamples import theorem_3_2
from discreet.audit._neighbours import ratings_of
from discreet.audit._tags import large_group
from discreet.audit.attacks.errata import PAPERS, Erratum, all_errata
from discreet.audit.attacks.errata._erratum import exponential, no_less_than, percent
from discreet.domain import Catalog, InputError
from discreet.domain.cluster_hash import ClusterHash
from discreet.evaluate._birth_death import BirthDeathChain, Exponent, proposed_step
from discreet.evaluate._completion import as_matrix, measured_rho, send_reports
from discreet.evaluate.reproduce._reports import FIVE_STARS, _theorem, _unit, _world
from discreet.evaluate.reproduce._study import EFFORTS, Size
from discreet.privacy import SeededRandomness
from discreet.protocols.local_reports.messages import Collection, Mechanism

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errata.md"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?: %)?(?!\w)")


@pytest.fixture(scope="module")
def errata() -> dict[str, Erratum]:
    return {erratum.name: erratum for erratum in all_errata()}


def rows() -> dict[str, tuple[str, str]]:
    """For each claim of the page, what happens and what is done instead."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| claim |"):
            claim, happens, instead = (cell.strip() for cell in line.strip("|").split(" | "))
            found[claim] = happens, instead
    return found


def numbers_in(text: str) -> set[str]:
    """Numbers in prose: none that is part of a name, a formula in backticks or a command."""
    prose = re.sub(r"`[^`]*`", "", text)
    prose = re.sub(r"\b(?:ml-\d+\w|[A-Z]\d|j\d|L\d)\b", "", prose)
    return {each.rstrip(",") for each in NUMBER.findall(prose)}


def test_the_numbers_of_a_text_are_found() -> None:
    text = "at 1e-5, with `f(7)` 17,770 items, 0.06 % and 2.0, L2 of B² on ml-1m"
    assert numbers_in(text) == {"1e-5", "17,770", "0.06 %", "2.0"}


def test_every_erratum_is_a_row_of_the_page_with_its_numbers(errata: dict[str, Erratum]) -> None:
    page = rows()
    for erratum in errata.values():
        assert erratum.claim in page, erratum.claim
        printed = numbers_in(" ".join((erratum.claim, *page[erratum.claim])))
        for number in erratum.numbers:
            said = {number.text, number.text.removesuffix(" %")}
            assert said & printed, f"{erratum.name}: {number.what} is {number.text}"


def test_every_number_of_the_page_is_computed_or_names_its_command(
    errata: dict[str, Erratum],
) -> None:
    by_claim = {erratum.claim: erratum for erratum in errata.values()}
    for claim, (happens, _) in rows().items():
        if claim not in by_claim:
            commanded = "`discreet reproduce " in happens or "`discreet attack " in happens
            assert commanded or not numbers_in(happens), claim
            continue
        erratum = by_claim[claim]
        known = {number.text for number in erratum.numbers} | set(erratum.given)
        assert numbers_in(happens) - known == set(), claim


@pytest.mark.parametrize(
    ("name", "claimed", "found"),
    [
        ("000, Theorem 4", "claimed in L1: alpha + B", "found in L1"),
        ("000, Theorem 4", "claimed in squared L2: alpha^2/(4 beta) + B^2", "found in squared L2"),
        ("000, Theorem 3", "the largest mu that epsilon 10 allows", "the mu of Theorem 3's noise"),
        ("000, Theorem 5", "claimed in L1: 2 B alpha + 3 B^2", "found in L1"),
        ("003, Theorem 3.1", "claimed", "found"),
        ("003, Theorem 3.2", "claimed: 2/T", "found"),
        (
            "002, appendix",
            "claimed: differences that are read",
            "found, of 28 pairs of eight people",
        ),
        ("practice, adaptive totals", "promised delta", "reached delta, at least"),
        (
            "practice, discrete Gaussian",
            "delta by the formula",
            "delta of the discrete Gaussian",
        ),
    ],
)
def test_what_is_found_passes_what_is_claimed(
    errata: dict[str, Erratum], name: str, claimed: str, found: str
) -> None:
    assert errata[name].value(found) > errata[name].value(claimed) * 1.01


@pytest.mark.parametrize(
    ("name", "ours", "found"),
    [
        ("000, Theorem 4", "ours in L1, with the range of what is centred", "found in L1"),
        ("000, Theorem 5", "ours in L2, in B^2, each pair once, without the diagonal",
         "how far ours moves here, likewise"),
    ],
)  # fmt: skip
def test_our_bound_holds_where_theirs_does_not(
    errata: dict[str, Erratum], name: str, ours: str, found: str
) -> None:
    assert errata[name].value(ours) > errata[name].value(found) > 0.8 * errata[name].value(ours)


def test_theorem_4_by_hand(errata: dict[str, Erratum]) -> None:
    """The mean goes from -380/120 to -376.2/121, by 0.05758, 100 times, and the new one is at B."""
    shift = 380 / 120 - 376.2 / 121
    assert errata["000, Theorem 4"].value("found in L1") == pytest.approx(100 * shift + 1, abs=1e-4)


def test_theorem_3_2_rests_on_no_division_by_nothing(errata: dict[str, Erratum]) -> None:
    """Item 0 goes from one owner to two, one of whom has the twenty items: 1/sqrt(2 * 2) each."""
    example = theorem_3_2()
    owners = [int((example.neighbours.ratings(world).items == 0).sum()) for world in (0, 1)]
    assert owners == [2, 1]
    assert errata["003, Theorem 3.2"].value("found") == pytest.approx(1 / math.sqrt(4), abs=1e-4)


def test_theorem_5_by_hand(errata: dict[str, Erratum]) -> None:
    """150 ratings 3.8 above their items, then one 3.8 below; weights 1/c, the whole matrix."""
    before = 3.8 - 150 * 3.8 / 170
    after = min(0.5, 3.8 - (150 * 3.8 - 3.8) / 171)
    block = 150**2 * abs(after**2 / 151 - before**2 / 150)
    total = block + (2 * 150 * after * 0.5 + 0.25) / 151
    assert errata["000, Theorem 5"].value("found in L1") == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize(
    ("what", "power"),
    [
        ("the largest epsilon, rates as in (31)", 0.5),
        ("the largest epsilon, rates as in its proof", 1.0),
    ],
)
def test_proposition_4_1_by_hand(errata: dict[str, Erratum], what: str, power: float) -> None:
    """3^(power epsilon) = 5; before it the step keeps every chance, after it one is negative."""
    last = errata["003, Proposition 4.1"].value(what)
    assert last == pytest.approx(math.log(5) / math.log(3) / power)
    logs = np.log([3.0, 1.0, 1.0])
    assert (np.diff(logs) <= 0).all()  # as the proposition assumes
    step = proposed_step(logs)
    assert step == pytest.approx(1 / 6)
    exponent = Exponent(2 * power)
    assert BirthDeathChain(logs, 0.99 * last, step, exponent).largest_step > step
    with pytest.raises(InputError, match="a negative probability to stay"):
        BirthDeathChain(logs, 1.01 * last, step, exponent)


def test_no_ratios_of_3_are_worse_for_proposition_4_1(errata: dict[str, Erratum]) -> None:
    """Falling sets with ratios of at most 3, at the epsilon that is said to be the largest."""
    last = errata["003, Proposition 4.1"].value("the largest epsilon, rates as in (31)")
    drops = np.random.default_rng(0).uniform(0, math.log(3), (200, 6))
    for row in drops:
        chain = BirthDeathChain(np.append(0.0, -np.cumsum(row)), last)
        assert chain.largest_step >= 1 / 6 * (1 - 1e-9)


def test_random_vectors_pass_the_component_bound_as_often_as_computed(
    errata: dict[str, Erratum],
) -> None:
    drawn = np.random.default_rng(0).standard_normal((600, 17_770), np.float32)
    passed = (np.abs(drawn).max(axis=1) <= 0.03 * np.linalg.norm(drawn, axis=1)).mean()
    share = errata["002, IV-A"].value("of random vectors that pass at 17,770 items")
    assert passed == pytest.approx(share, abs=4 * (share * (1 - share) / 600) ** 0.5)


def test_our_component_bound_is_possible(errata: dict[str, Erratum]) -> None:
    catalog = ratings_of([{0: 1.0}], 1000).catalog
    hashed = ClusterHash(catalog, 8)
    largest = errata["002, IV-A"].value("ours for 1,000 items and 8 bits")
    assert np.abs(hashed.vectors).max() / 2**24 <= largest


def test_the_group_is_a_safe_prime() -> None:
    prime = large_group().prime
    assert prime.bit_length() == 2048
    for odd in (prime, (prime - 1) // 2):
        assert pow(2, odd - 1, odd) == 1


def test_numbers_are_printed_as_on_the_page() -> None:
    assert exponential("x", 2.758e-6).text == "2.8e-6"
    assert no_less_than("x", 2.758e-6).text == "2.7e-6"
    assert no_less_than("x", 2.7e-6).text == "2.7e-6"
    assert exponential("x", 1e-6, 0).text == "1e-6"
    assert percent("x", 0.000625, ".2f").text == "0.06 %"


def test_the_page_names_every_paper_with_its_short_name(errata: dict[str, Erratum]) -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert {erratum.paper for erratum in errata.values()} == set(PAPERS.values())
    for short, paper in PAPERS.items():
        assert f"## {paper.authors}" in text
        if short != "practice":
            assert f"| `{short}` | {paper.authors} | {paper.title} |" in text


def test_the_ledger_s_pages_have_the_same_delta(errata: dict[str, Erratum]) -> None:
    """What adaptive steps reach is told in three places."""
    (_, reached) = errata["practice, adaptive totals"].numbers
    root = PAGE.parents[1]
    for place in ("docs/ledger.md", "docs/errata.md", "src/discreet/privacy/ledger/PROOF.md"):
        assert reached.text in (root / place).read_text(encoding="utf-8"), place


def test_the_bound_of_local_reports_is_as_far_above_rho_as_the_page_says() -> None:
    """At the size and the epsilons of `discreet reproduce local-bound`."""
    (instead,) = (done for claim, (_, done) in rows().items() if claim.startswith("Definition 4"))
    small = EFFORTS[Size.SMALL]
    theta, people, rho_0 = _world(*small.cells)
    catalog = Catalog([str(item) for item in range(theta.shape[1])])
    for mechanism in Mechanism:
        theorem, above = _theorem(mechanism, theta, people, rho_0), []
        for epsilon in small.completions:
            collection = Collection(catalog, FIVE_STARS, mechanism, epsilon)
            Z = as_matrix(collection, send_reports(collection, people, SeededRandomness(0)))
            above.append(theorem.bound(epsilon) * _unit(mechanism) / measured_rho(theta, Z))
        assert f"{min(above):.2f} to {max(above):.1f} times" in instead, mechanism
