"""One history for all catalogues: what was made up stays made up, wherever the items are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import Catalog, InputError, Scale
from discreet.protocols.clusters_common.client import Obfuscator, standing
from discreet.protocols.clusters_common.messages import Obfuscation, SentRatings

FIVE_STARS = Scale(1, 5)


def catalog(numbers: range | list[int], title: str = "Title {}") -> Catalog:
    return Catalog([f"i{n}" for n in numbers], [title.format(n) for n in numbers])


def terms(of: Catalog, **told: Any) -> Obfuscation:
    return Obfuscation(of, told.pop("scale", FIVE_STARS), **{"bits": 2, "least": 40} | told)


def sent(public: Obfuscation, rated: dict[str, int], state: dict[str, Any]) -> set[str]:
    """The ids that look rated."""
    known = {public.catalog.find(name): code for name, code in rated.items()}
    items = np.array(sorted(i for i in known if i is not None), np.int32)
    codes = np.array([known[int(i)] for i in items], np.uint8)
    found, _ = Obfuscator(public).obfuscate(items, codes, state)
    assert isinstance(found, SentRatings)
    return {public.catalog.ids[i] for i in found.items}


RATED = {f"i{n}": n % 5 for n in range(0, 200, 5)}


@pytest.mark.parametrize(
    "other",
    [range(201), range(300), range(50, 260), list(range(199, -1, -1)), list(range(0, 200, 2))],
)
def test_another_catalogue_shows_no_new_fakes_on_items_that_both_have(other: Any) -> None:
    state: dict[str, Any] = {}
    one, two = terms(catalog(range(200))), terms(catalog(other))
    first = sent(one, RATED, state)
    second = sent(two, RATED, state)
    both = set(one.catalog.ids) & set(two.catalog.ids)
    assert len(both) >= 100 and len(first & both) >= 20
    assert first & both <= second
    # With fewer of its items in common there are more fakes, which are known to be late.
    extra = (second - first) & both
    assert not extra & RATED.keys() and len(extra) <= standing(two, state).late
    assert sent(one, RATED, state) == first | extra  # and back


def test_catalogues_without_a_common_item_have_fakes_of_their_own_and_keep_them() -> None:
    state: dict[str, Any] = {}
    films, books = terms(catalog(range(200))), terms(catalog(range(500, 700)))
    first = sent(films, RATED, state)
    second = sent(books, {"i505": 3, "i510": 1}, state)
    assert not first & second and len(second) >= 40
    assert sent(films, RATED, state) == first and sent(books, {"i505": 3}, state) == second
    assert standing(films, state).true == len(RATED)
    assert standing(books, state).true + standing(books, state).taken_back == 2


def test_codes_and_what_is_known_of_items_move_with_them() -> None:
    state: dict[str, Any] = {}
    one = terms(catalog(range(200)), suppress_percent=30)
    sent(one, RATED, state)
    for _ in range(2):
        turned = terms(catalog(list(range(199, -1, -1))), suppress_percent=30)
        sent(turned, RATED, state)
        assert standing(turned, state) == standing(one, state)
    reports = [
        Obfuscator(each).obfuscate(*own(each), state)[0] for each in (one, turned)
    ]  # fmt: skip
    by_id = [
        {each.catalog.ids[i]: int(c) for i, c in zip(r.items, r.codes, strict=True)}
        for each, r in zip((one, turned), reports, strict=True)
    ]
    assert by_id[0] == by_id[1]


def own(public: Obfuscation) -> tuple[np.ndarray, np.ndarray]:
    items = np.array(sorted(public.catalog.index(name) for name in RATED), np.int32)
    codes = np.array([RATED[public.catalog.ids[i]] for i in items], np.uint8)
    return items, codes


def test_another_scale_or_another_name_for_what_was_sent_is_refused() -> None:
    state: dict[str, Any] = {}
    first = sent(terms(catalog(range(200))), RATED, state)
    before = str(state)
    with pytest.raises(InputError, match=r"on the scale 1\.\.5 with this file; on 1\.\.5/0\.5"):
        sent(terms(catalog(range(200)), scale=Scale(1, 5, 0.5)), RATED, state)
    for renamed in (
        Catalog([f"i{n}" for n in range(200)], [f"New {n}" for n in range(200)]),
        Catalog([f"j{n}" for n in range(200)], [f"Title {n}" for n in range(200)]),
        Catalog([f"i{n}" for n in range(200)], [f"Title {(n + 1) % 200}" for n in range(200)]),
    ):
        with pytest.raises(InputError, match="was sent with this file"):
            sent(terms(renamed), RATED, state)
    assert str(state) == before
    # Whether a name that was never sent has changed must not matter, even if it was rated.
    unsent = next(n for n in range(200) if f"i{n}" not in first)
    titles = [f"Title {n}" if n != unsent else "Another" for n in range(200)]
    other = terms(Catalog([f"i{n}" for n in range(200)], titles))
    assert sent(other, RATED, state) == first


def test_a_suppressed_item_that_is_renamed_is_not_told_by_a_refusal() -> None:
    state: dict[str, Any] = {}
    public = terms(catalog(range(200)), suppress_percent=50)
    first = sent(public, RATED, state)
    hidden = [name for name in RATED if name not in first]
    assert hidden
    titles = ["Another" if f"i{n}" == hidden[0] else f"Title {n}" for n in range(200)]
    other = terms(Catalog([f"i{n}" for n in range(200)], titles), suppress_percent=50)
    assert sent(other, {k: v for k, v in RATED.items() if k != hidden[0]}, state) == first


def test_a_fake_that_was_met_and_is_rated_no_more_is_a_fake_again() -> None:
    state: dict[str, Any] = {}
    public = terms(catalog(range(200)))
    first = sent(public, RATED, state)
    fakes = sorted(first - RATED.keys())[:6]
    sent(public, RATED | dict.fromkeys(fakes, 2), state)
    assert standing(public, state).true == len(RATED) + 6
    sent(public, RATED, state)
    assert standing(public, state).true == len(RATED)


@pytest.mark.parametrize(
    "damage",
    [
        {"names": [[1]]},
        {"turn": "x"},
        {"history": {}},
        {"names": 5},
        {"names": []},
    ],
)
def test_a_damaged_memory_is_refused(damage: dict[str, Any], tmp_path: Path) -> None:
    state: dict[str, Any] = {}
    public = terms(catalog(range(200)))
    sent(public, RATED, state)
    state["obfuscation"] |= damage
    with pytest.raises(InputError, match="no usable history"):
        sent(public, RATED, state)
