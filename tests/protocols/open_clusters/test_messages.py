"""Terms and uploads: there and back, and everything that does not fit refused in one line."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, InputError, Scale
from discreet.privacy import Guarantee, Unit
from discreet.protocols.clusters_common.messages import SentRatings
from discreet.protocols.common import numbers_text
from discreet.protocols.open_clusters.messages import Collection, Upload
from protocols.open_clusters._terms import FIVE_STARS, catalog_of, obfuscated, revealed, terms


def through_text(message: Any) -> Any:
    return json.loads(json.dumps(message.as_json()))


def test_terms_come_back() -> None:
    told = terms(
        300, Scale(-10, 10, None), bits=5, hash="lsh", beacon="Zürich ☂",
        bit_epsilon_thousandths=500, fakes="same-hash", fake_percent=150, suppress_percent=20,
        least=90, epoch=7,
    )  # fmt: skip
    found = Collection.from_json(through_text(told), told.catalog)
    assert found == told and found.digest == told.digest
    assert found.bit_epsilon == 0.5 and found.parts == 255


def test_the_digest_is_that_of_sorted_compact_json() -> None:
    told = terms(beacon="ä")
    text = json.dumps(told.as_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    wanted = hashlib.sha256(b"discreet collection 1\n" + text.encode()).hexdigest()
    assert told.digest == wanted
    assert "ä" in text and '"scale":"1..5"' in text and "." not in text.replace("1..5", "")
    assert terms(epoch=1).digest != terms().digest != terms(least=81).digest


def test_the_hash_costs_a_rating_as_much_as_a_person() -> None:
    event = terms(bits=8, bit_epsilon_thousandths=250).hash_event
    assert event is not None
    promise = Guarantee(Unit.RATING, (event,), 0.0)
    assert promise.epsilon == promise.per(Unit.USER) == promise.changed_rating == 2.0
    assert terms().hash_event is None


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"bits": 0}, "bits"),
        ({"bits": 17}, "bits"),
        ({"d": 85, "bits": 16, "least": 90}, "at least 90 items"),
        ({"d": 5, "bits": 8, "least": 0}, "no more than there are items"),
        ({"hash": "minhash"}, "'hash'"),
        ({"hash_on": "both"}, "'hash_on'"),
        ({"fakes": "none"}, "'fakes'"),
        ({"fake_percent": -1}, "'fake_percent'"),
        ({"fake_percent": 1.5}, "'fake_percent'"),
        ({"suppress_percent": 91}, "'suppress_percent'"),
        ({"bit_epsilon_thousandths": 500, "hash_on": "obfuscated"}, "needs no noise"),
        ({"beacon": "x" * 201}, "'beacon'"),
        ({"epoch": -1}, "'epoch'"),
        ({"scale": PRESENCE}, "presence"),
    ],
)
def test_terms_that_cannot_be_are_refused(told: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        terms(told.pop("d", 1_000), told.pop("scale", FIVE_STARS), **told)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"protocol": "local-reports"}, "'protocol'"),
        ({"version": 2}, "'version'"),
        ({"items": 999}, "this catalogue's digest"),
        ({"catalog": "0" * 64}, "this catalogue's digest"),
        ({"scale": "5"}, "not a scale"),
        ({"bits": "8"}, "'bits'"),
        ({"more": 1}, "does not have"),
    ],
)
def test_foreign_terms_are_refused(change: dict[str, Any], complaint: str) -> None:
    told = terms()
    with pytest.raises(InputError, match=complaint):
        Collection.from_json(told.as_json() | change, told.catalog)


def test_terms_of_another_catalogue_are_refused() -> None:
    with pytest.raises(InputError, match="digest"):
        Collection.from_json(terms(1_000).as_json(), catalog_of(1_001))


def test_uploads_come_back() -> None:
    told = terms()
    for sent in (
        obfuscated(told, 50),
        revealed(told, [3, 7, 9], [4, 0, 2]),
        Upload(told.digest, 200, SentRatings.none()),
    ):
        found = Upload.from_json(through_text(sent), told)
        assert (found.hash, found.ratings, found.collection) == (
            sent.hash,
            sent.ratings,
            told.digest,
        )
        assert found.items.tolist() == sent.items.tolist() and found.items.dtype == np.int32
        assert found.codes.tolist() == sent.codes.tolist() and found.codes.dtype == np.uint8
        assert str(sent.items.tolist()) not in repr(found)
    assert "items" not in through_text(found)


def numbers(values: list[int], dtype: str) -> str:
    return numbers_text(np.array(values), dtype)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"protocol": "x"}, "'protocol'"),
    ({"version": 2}, "'version'"),
    ({"collection": "0" * 64}, "this collection's terms"),
    ({"hash": 256}, "'hash' should be a whole number from 0 to 255"),
    ({"hash": -1}, "'hash'"),
    ({"hash": 3.0}, "'hash'"),
    ({"hash": True}, "'hash'"),
    ({"ratings": "some"}, "'ratings'"),
    ({"ratings": "none"}, "no 'items'"),
    ({"items": "%%%"}, "'items'"),
    ({"items": None}, "'items' is missing"),
    ({"items": "AAAA"}, "'items'"),
    ({"codes": numbers([1] * 99, "uint8")}, "one entry a rating"),
    ({"codes": numbers([5] * 100, "uint8")}, "'codes' should be from 0 to 4"),
    ({"items": numbers(list(range(79)), "int32"), "codes": numbers([1] * 79, "uint8")}, "80"),
    ({"items": numbers([0, 0, *range(2, 100)], "int32")}, "rising"),
    ({"items": numbers([1, 0, *range(2, 100)], "int32")}, "rising"),
    ({"items": numbers([-1, *range(1, 100)], "int32")}, "indices of the catalogue"),
    ({"items": numbers([*range(99), 1_000], "int32")}, "indices of the catalogue"),
    ({"items": numbers(list(range(1_001)), "int32")}, "'items'"),
    ({"name": "me"}, "does not have"),
]


@pytest.mark.parametrize(("change", "complaint"), WRONG)
def test_bad_uploads_are_refused(change: dict[str, Any], complaint: str) -> None:
    told = terms()
    ones = np.ones(100, np.uint8)
    sent = SentRatings("obfuscated", np.arange(100, dtype=np.int32), ones)
    good = Upload(told.digest, 9, sent)
    assert Upload.from_json(good.as_json(), told).hash == 9
    with pytest.raises(InputError, match=complaint) as refused:
        Upload.from_json(good.as_json() | change, told)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("wrong", [None, 5, "x", [], [1]])
def test_what_is_no_object_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="an object"):
        Upload.from_json(wrong, terms())


def test_a_hash_that_anybody_can_check_is_checked() -> None:
    told = terms()
    true = revealed(told, [3, 7, 9], [4, 0, 2]).as_json()
    with pytest.raises(InputError, match="'hash' is not the hash"):
        Upload.from_json(true | {"hash": true["hash"] ^ 1}, told)
    told = terms(hash_on="obfuscated")
    sent = obfuscated(told, 50).as_json()
    assert Upload.from_json(sent, told).hash == sent["hash"]
    with pytest.raises(InputError, match="'hash' is not the hash"):
        Upload.from_json(sent | {"hash": sent["hash"] ^ 1}, told)
