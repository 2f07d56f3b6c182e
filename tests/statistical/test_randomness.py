"""The bits themselves: fair, fresh with every call, never the same on both sides of a fork."""

from __future__ import annotations

import os

import numpy as np
import pytest

from discreet.privacy import SeededRandomness, SystemRandomness
from discreet.privacy.noise import draw_below, flip_coins
from statistical._laws import (
    alarms,
    count_fit,
    counts_fit,
    independence,
    judge,
    uniformity,
)

RANDOM = SystemRandomness()
# On both sides of what comes straight from the system, and of the length of one key's stream.
SIZES = [16, 4096, 4097, 1 << 20, (1 << 20) + 1, (3 << 20) + 12345]


def _bytes(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    buffer = bytearray(size)
    RANDOM.fill(memoryview(buffer))
    return np.frombuffer(buffer, dtype=np.uint8)


def _blocks(size: int) -> set[bytes]:
    raw = _bytes(size).tobytes()
    return {raw[i : i + 16] for i in range(0, size - 15, 16)}


@pytest.mark.parametrize("size", SIZES)
def test_every_byte_is_filled_and_no_block_comes_twice(size: int) -> None:
    # Blocks of 128 bits: that two of 2^18 agree by chance has probability below 2^-92.
    first, second = _blocks(size), _blocks(size)
    assert len(first) == len(second) == size // 16
    assert not first & second


def test_the_last_byte_of_an_odd_size_is_random_too() -> None:
    ends = {bytes(_bytes(size)[-3:]) for size in (4097, (1 << 20) + 1) for _ in range(20)}
    assert len(ends) > 30  # 40 draws of 24 bits


def test_bytes_and_their_neighbours() -> None:
    raw = _bytes(4 << 20)
    judge(uniformity(raw, 256), "bytes")
    pairs = raw.view(np.uint16)
    judge(uniformity(pairs, 1 << 16), "pairs of bytes")
    bits = np.unpackbits(raw)
    judge(count_fit(int(bits.sum()), len(bits), 0.5), "bits")
    blocks = raw.reshape(-1, 16).astype(np.int64)
    judge(independence(blocks[:-1, 0] >> 4, blocks[1:, 0] >> 4), "one cipher block apart")


def test_words_and_half_words_are_uniform_at_both_ends() -> None:
    words, halves = RANDOM.words(1 << 20), RANDOM.half_words(1 << 20)
    assert words.dtype == np.uint64
    assert halves.dtype == np.uint32
    for name, values, width in (("words", words, 64), ("half words", halves, 32)):
        judge(uniformity(values >> (width - 10), 1024), f"{name}: first bits")
        judge(uniformity(values & 1023, 1024), f"{name}: last bits")


@pytest.mark.parametrize("count", [1, 3, 8, 9, 13])
def test_bits_are_uniform_on_their_range(count: int) -> None:
    draws = np.array([RANDOM.bits(count) for _ in range(200 << min(count, 7))])
    assert draws.min() >= 0
    assert draws.max() < 1 << count
    judge(uniformity(draws >> max(0, count - 7), min(1 << count, 128)), f"{count} bits, first ones")
    judge(uniformity(draws & 1, 2), f"{count} bits, last one")


def test_bits_reach_the_whole_of_a_long_range() -> None:
    assert RANDOM.bits(0) == 0
    draws = [RANDOM.bits(100) for _ in range(200)]
    assert max(draws) < 1 << 100
    either = np.bitwise_or.reduce([np.array(list(f"{d:0100b}"), dtype=int) for d in draws])
    every = np.bitwise_and.reduce([np.array(list(f"{d:0100b}"), dtype=int) for d in draws])
    assert either.all()
    assert not every.any()


def _two_kinds_of_fill() -> bytes:
    """Bits straight from the system, and some that go through the cipher."""
    return RANDOM.words(4).tobytes() + RANDOM.words(2048).tobytes()[:4096]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_parent_and_child_draw_different_bits() -> None:
    RANDOM.words(10)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, _two_kinds_of_fill())
        finally:
            os._exit(0)
    mine = _two_kinds_of_fill()
    os.waitpid(child, 0)
    theirs = os.read(reading, 8192)
    os.close(reading)
    os.close(writing)
    assert len(theirs) == len(mine) == 32 + 4096
    blocks = [{part[i : i + 8] for i in range(0, len(part), 8)} for part in (mine, theirs)]
    assert not blocks[0] & blocks[1]


def test_seeded_bits_repeat_and_other_seeds_differ() -> None:
    first, again, other = (SeededRandomness(seed) for seed in (7, 7, 8))
    words = first.words(300_000)
    # The stream is one, however it is cut.
    parts = [again.words(count) for count in (1, 99_999, 200_000)]
    assert np.array_equal(words, np.concatenate(parts))
    assert not set(words.tolist()) & set(other.words(300_000).tolist())
    assert not np.array_equal(first.words(2), words[:2])
    judge(uniformity(words & 255, 256), "seeded words")


@pytest.mark.parametrize("bound", [2, 3, 6, 100, 2**40 + 1, 3 << 61])
def test_integers_below_a_bound_are_uniform(bound: int) -> None:
    # A remainder of 2^64 words by 3 * 2^61 would favour the first quarter twofold.
    draws = draw_below(bound, 1 << 18, RANDOM)
    assert draws.min() >= 0
    assert int(draws.max()) < bound
    kinds = min(bound, 64)
    edges = np.array([bound * i // kinds for i in range(1, kinds)], dtype=np.int64)
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=kinds)
    masses = np.diff([bound * i // kinds for i in range(kinds + 1)]) / bound
    judge(counts_fit(counts, masses), f"below {bound}")


def test_one_choice_is_no_choice() -> None:
    assert not draw_below(1, 1000, RANDOM).any()


def test_a_biased_remainder_is_noticed() -> None:
    bound = 3 << 61
    draws = RANDOM.words(1 << 18) % np.uint64(bound)
    assert alarms(uniformity(draws >> np.uint64(61), 3))


@pytest.mark.parametrize("probability", [1e-5, 0.1, 0.5, 1 / 3, 0.999])
def test_coins_have_their_probability(probability: float) -> None:
    heads = flip_coins(lambda: probability, 1 << 21, RANDOM)
    judge(count_fit(int(heads.sum()), len(heads), probability), f"coins of {probability:g}")
    pairs = heads.reshape(-1, 2).astype(np.int64)
    if 0.01 < probability < 0.99:
        judge(independence(pairs[:, 0], pairs[:, 1]), f"pairs of coins of {probability:g}")


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.999])
def test_coins_settled_exactly_have_the_same_probability(probability: float) -> None:
    heads = flip_coins(lambda: probability, 1 << 14, RANDOM, margin=2.0)
    judge(count_fit(int(heads.sum()), len(heads), probability), f"exact coins of {probability:g}")
