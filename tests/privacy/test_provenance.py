"""Where a release comes from: in words, in files, and never more than is public."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from discreet.domain import CatalogOrigin, InputError
from discreet.privacy import (
    NO_NOISE,
    NOT_RECORDED,
    ChargeRecord,
    Guarantee,
    Provenance,
    PureEvent,
    Unit,
)

CHARGE = ChargeRecord("a" * 64, "customers of the shop", 3, "b" * 64)
UNBOOKED = Provenance(version="0.2.0", catalog=CatalogOrigin.GIVEN, configuration="c" * 64)
BOOKED = Provenance(
    version="0.2.0",
    part="half of the people",
    bad_rows="skip",
    catalog=CatalogOrigin.FROM_DATA,
    most_ratings=5000,
    configuration="d" * 64,
    charge=CHARGE,
)
EVENT = PureEvent(unit=Unit.USER, label="x", epsilon=1.0, mechanism="coin")


def promise(provenance: Provenance | None, *reasons: str) -> Guarantee:
    return Guarantee(Unit.USER, (EVENT,), 0.0, not_private=reasons, provenance=provenance)


def test_words() -> None:
    assert UNBOOKED.sentences() == [
        "It was made by discreet 0.2.0 from all of the data.",
        "The catalogue is a public list.",
        "Its privacy cost is not recorded in any ledger.",
    ]
    assert BOOKED.sentences() == [
        "It was made by discreet 0.2.0 from part of the data (half of the people).",
        "Bad rows, if any, were skipped.",
        "At most 5,000 ratings of each person were kept.",
        "The catalogue was read from the private ratings.",
        "Its privacy cost is recorded as charge 3 in the ledger of 'customers of the shop'.",
    ]
    assert (
        "No row was skipped: a file with a bad row would have been refused."
        in replace(UNBOOKED, bad_rows="refuse").sentences()
    )


def test_a_guarantee_says_where_it_comes_from() -> None:
    said = str(promise(BOOKED)).splitlines()
    assert said[-5:] == BOOKED.sentences() and said[0] == "epsilon 1, delta 0, per user"
    assert str(promise(UNBOOKED, NO_NOISE)).splitlines() == [
        "no guarantee",
        "Not private: no noise was added.",
        *UNBOOKED.sentences(),
    ]
    assert NOT_RECORDED in promise(UNBOOKED).to_dict()["words"]
    assert "ledger" not in str(promise(None))


@pytest.mark.parametrize("provenance", [None, UNBOOKED, BOOKED])
def test_json_gives_the_same_back(provenance: Provenance | None) -> None:
    made = promise(provenance)
    text = json.dumps(made.to_dict(), allow_nan=False)
    assert ("provenance" in json.loads(text)) == (provenance is not None)
    back = Guarantee.from_dict(json.loads(text))
    assert back == made and str(back) == str(made)
    assert json.dumps(back.to_dict()) == text


WRONG: list[dict[str, Any]] = [
    {"version": None},
    {"version": ""},
    {"version": "0.2\n0"},
    {"part": 3},
    {"part": "x" * 301},
    {"part": "bell\a"},
    {"bad_rows": "ignore"},
    {"bad_rows": 7},
    {"bad_rows": []},
    {"catalog": "secret"},
    {"catalog": None},
    {"catalog": []},
    {"most_ratings": 0},
    {"most_ratings": True},
    {"most_ratings": 2.0},
    {"configuration": None},
    {"configuration": "C" * 64},
    {"configuration": "c" * 63},
    {"charge": "3"},
    {"charge": {}},
    {"charge": CHARGE.to_dict() | {"number": 0}},
    {"charge": CHARGE.to_dict() | {"number": "3"}},
    {"charge": CHARGE.to_dict() | {"number": True}},
    {"charge": CHARGE.to_dict() | {"ledger": "a"}},
    {"charge": CHARGE.to_dict() | {"digest": None}},
    {"charge": CHARGE.to_dict() | {"population": " "}},
    {"charge": CHARGE.to_dict() | {"population": None}},
]


@pytest.mark.parametrize("lie", WRONG, ids=str)
def test_damaged_fields_are_refused(lie: dict[str, Any]) -> None:
    data = promise(BOOKED).to_dict()
    with pytest.raises(InputError) as caught:
        Guarantee.from_dict(data | {"provenance": data["provenance"] | lie})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("lie", [None, "", [], 3, {}])
def test_what_is_no_table_is_refused(lie: Any) -> None:
    with pytest.raises(InputError):
        Guarantee.from_dict(promise(None).to_dict() | {"provenance": lie})


@pytest.mark.parametrize("name", list(BOOKED.to_dict()))
def test_a_missing_field_is_refused(name: str) -> None:
    data = BOOKED.to_dict()
    del data[name]
    with pytest.raises(InputError, match=f"a provenance lacks its field '{name}'"):
        Provenance.from_dict(data)


def test_what_a_newer_version_adds_is_no_error() -> None:
    assert Provenance.from_dict(BOOKED.to_dict() | {"more": 1}) == BOOKED
