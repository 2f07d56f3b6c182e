"""The keyed hash: equal to a slow twin, uniform, and a function of name and id alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings import Ratings, _keyed
from discreet.ratings._keyed import Keyed, derive_key, hash_names, hash_texts

_MASK = 2**64 - 1
_INCREMENT = 0x9E3779B97F4A7C15


def slow_mix(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def slow_hash(text: str, key: int) -> int:
    data = text.encode()
    state = slow_mix((key + _INCREMENT * len(data)) & _MASK)
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8], "little")
        state = slow_mix(((state ^ word) + _INCREMENT) & _MASK)
    return state


def slow_record(name: str, item: str, key: int) -> int:
    state = slow_mix((slow_hash(name, key) + _INCREMENT) & _MASK)
    return slow_mix(((state ^ slow_hash(item, key)) + _INCREMENT) & _MASK)


def everything(users: np.ndarray | None, count: int, ids: list[str]) -> Ratings:
    """Everybody rated everything."""
    starts = np.arange(count + 1, dtype=np.int64) * len(ids)
    items = np.tile(np.arange(len(ids), dtype=np.int32), count)
    return Ratings(
        Scale(1, 5), Catalog(ids), starts, items, np.zeros(len(items), np.uint8), users=users
    )


def test_the_mixer_is_the_published_one() -> None:
    # The first outputs of SplitMix64 from the seed 0, as published with the Java generator.
    outputs = [slow_mix((_INCREMENT * n) & _MASK) for n in (1, 2, 3)]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@settings(deadline=None)
@given(st.lists(st.text(max_size=30)), st.integers(0, _MASK))
def test_hashes_of_texts_agree_with_a_slow_twin(texts: list[str], key: int) -> None:
    found = hash_texts(pa.array(texts, pa.large_string()), key)
    assert found.tolist() == [slow_hash(text, key) for text in texts]


def test_a_slice_of_texts_hashes_as_its_own_texts() -> None:
    texts = pa.array(["no", "yes", "a longer text than eight bytes", ""], pa.large_string())
    assert np.array_equal(hash_texts(texts[1:3], 5), hash_texts(texts, 5)[1:3])


NAMES = {
    "text": np.array(["ann", "bob", "Ελένη"]),
    "integers": np.array([-7, 0, 12_345_678_901]),
    "small integers": np.array([3, 1, 2], dtype=np.int32),
    "unsigned": np.array([1, 2, 2**64 - 1], dtype=np.uint64),
}


@pytest.mark.parametrize("kind", NAMES)
def test_hashes_of_ratings_agree_with_a_slow_twin(kind: str) -> None:
    ids, key = ["1", "lamp", "a rather long identifier"], derive_key("test", 1)
    names = NAMES[kind]
    ratings = everything(names, len(names), ids)
    expected = [slow_record(str(name), item, key) for name in names.tolist() for item in ids]
    assert Keyed(ratings, key).of(ratings, 0).tolist() == expected


def test_integers_hash_as_the_text_that_they_print_as() -> None:
    numbers, texts = np.array([1, 20, 300]), np.array(["1", "20", "300"])
    ids = ["a", "b"]
    assert np.array_equal(
        hash_names(everything(numbers, 3, ids), 9), hash_names(everything(texts, 3, ids), 9)
    )


def test_blocks_of_users_and_of_names_hash_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = everything(None, 100, ["a", "b", "c"])
    keyed, first, parts = Keyed(ratings, 3), 0, []
    for block in ratings.blocks(20):
        parts.append(keyed.of(block, first))
        first += block.user_count
    assert np.array_equal(np.concatenate(parts), keyed.of(ratings, 0))
    monkeypatch.setattr(_keyed, "_NAMES_AT_ONCE", 7)
    assert np.array_equal(Keyed(ratings, 3).of(ratings, 0), keyed.of(ratings, 0))


def test_a_name_that_is_no_text_is_refused_without_showing_it() -> None:
    ratings = everything(np.array(["fine", "secret\ud800"]), 2, ["a"])
    with pytest.raises(InputError, match="not valid Unicode") as caught:
        hash_names(ratings, 1)
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


@pytest.mark.parametrize("seed", [1.5, "1", None, True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(InputError, match="whole number"):
        derive_key("test", seed)  # type: ignore[arg-type]


def test_keys_differ_by_purpose_and_seed() -> None:
    seeds = (-1, 0, 1, 2**64, 2**64 + 1)
    keys = [derive_key(purpose, seed) for purpose in ("a", "b") for seed in seeds]
    assert len(set(keys)) == len(keys)
    # Fixed for good: whoever splits again with a later version gets the same parts.
    assert derive_key("random split", 0) == 0x6D18F703AC2C1A41
    assert derive_key("bounded contributions", 0) == 0xB856521D8100445C


def hashes_of(key: int, users: int = 2000, items: int = 100) -> np.ndarray:
    ratings = everything(np.arange(users), users, [str(i) for i in range(items)])
    return Keyed(ratings, key).of(ratings, 0).reshape(users, items)


# What follows is deterministic: keys are fixed, and the figures were within the limits once.
# 5 standard deviations leave a random function 1 chance in 1.7 million for each figure.


@pytest.mark.parametrize("bit", range(64))
def test_every_bit_is_as_often_set_as_not_in_all_and_by_user_and_by_item(bit: int) -> None:
    is_set = (hashes_of(derive_key("test", 1)) >> np.uint64(bit)) & np.uint64(1) == 1
    for axis in (None, 0, 1):
        means = np.atleast_1d(is_set.mean(axis=axis))
        trials = is_set.size / means.size
        assert np.abs(means - 0.5).max() < 5 * 0.5 / np.sqrt(trials)


def test_hashes_fill_cells_as_chance_would() -> None:
    counts = np.bincount(
        (hashes_of(derive_key("test", 2)) >> np.uint64(52)).ravel(), minlength=4096
    )
    expected = counts.sum() / 4096
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - 4095) < 5 * np.sqrt(2 * 4095)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_sides_of_two_items_of_two_users_and_of_two_keys_are_independent(share: float) -> None:
    limit = np.uint64(int(share * 2**64))
    one, two = (hashes_of(derive_key("test", seed)) < limit for seed in (3, 4))
    variance = share * (1 - share)
    for first, second in (
        (one[:, :-1], one[:, 1:]),  # neighbouring items of one user
        (one[:-1], one[1:]),  # neighbouring users on one item
        (one, two),  # two keys
    ):
        together = ((first - share) * (second - share)).mean() / variance
        assert abs(together) < 5 / np.sqrt(first.size)


def test_one_bit_of_a_name_changes_half_of_the_bits() -> None:
    key = derive_key("test", 5)
    texts = [chr(97 + n % 16) * (1 + n % 20) for n in range(320)]
    flipped = [chr(ord(text[0]) ^ 1) + text[1:] for text in texts]
    both = [hash_texts(pa.array(each, pa.large_string()), key) for each in (texts, flipped)]
    changed = np.unpackbits((both[0] ^ both[1]).view(np.uint8)).mean()
    assert abs(changed - 0.5) < 5 * 0.5 / np.sqrt(64 * len(texts))
