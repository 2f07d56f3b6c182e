"""What a client says of its hash: of what, with which noise, how often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.domain import InputError
from discreet.privacy import SeededRandomness
from discreet.protocols.open_clusters.messages import Upload
from protocols.open_clusters._clients import client, own
from protocols.open_clusters._terms import person, terms


def test_the_hash_of_what_is_sent(tmp_path: Path) -> None:
    told = terms(hash_on="obfuscated")
    upload = client(tmp_path, told).report(own(*person(1_000, 100)))
    assert upload.hash == told.cluster_hash.value(upload.items, upload.codes)
    assert Upload.from_json(upload.as_json(), told).ratings == "obfuscated"
    with pytest.raises(InputError, match="the hash alone is not taken"):
        client(tmp_path, told, hash_only=True)


def test_some_reveal_and_some_send_the_hash_alone(tmp_path: Path) -> None:
    told = terms()
    items, codes = person(1_000, 30)
    value = told.cluster_hash.value(items, codes)
    shown = client(tmp_path, told, reveal=True).report(own(items, codes))
    assert (shown.ratings, shown.hash, len(shown.items)) == ("revealed", value, 30)
    made = client(tmp_path, told, hash_only=True)
    bare = made.report(own(items, codes))
    assert (bare.ratings, bare.hash, len(bare.items)) == ("none", value, 0)
    assert made.standing().sentences() == ["No obfuscated ratings were sent."]
    with pytest.raises(InputError, match="not both"):
        client(tmp_path, told, reveal=True, hash_only=True)


def test_randomized_bits_are_answered_once_an_epoch_and_counted(tmp_path: Path) -> None:
    told = terms(bits=8, bit_epsilon_thousandths=250)
    made = client(tmp_path, told, batch=1, hash_only=True)
    values = {made.report(own(*person(1_000, 100, seed))).hash for seed in range(6)}
    assert len(values) == 1  # though the true hash changed
    assert made.standing().hash_epsilon == 2.0
    later = client(tmp_path, terms(bits=8, bit_epsilon_thousandths=250, epoch=1), hash_only=True)
    later.report(own(*person(1_000, 100)))
    assert later.standing().hash_epsilon == 4.0
    assert "epsilon of 4 in all" in later.standing().sentences()[-1]


def test_other_terms_get_the_same_answer_about_the_hash_and_a_limit_holds(tmp_path: Path) -> None:
    ratings = own(*person(1_000, 100))
    said = set()
    for least in range(1, 30):
        told = terms(bit_epsilon_thousandths=100, least=least)
        made = client(tmp_path, told, randomness=SeededRandomness(least))
        said.add(made.report(ratings).hash)
        assert made.cost == 0
    assert len(said) == 1
    assert made.standing().hash_epsilon == pytest.approx(0.8)
    other = terms(bit_epsilon_thousandths=100, beacon="another hash")
    limited = client(tmp_path, other, limit=1.0)
    assert limited.cost == pytest.approx(0.8)
    with pytest.raises(InputError, match="past your limit of 1"):
        limited.report(ratings)
    with pytest.raises(InputError, match="past your limit of 1"):
        client(tmp_path, other).report(ratings)  # it is remembered
    assert client(tmp_path, other, limit=2.0).report(ratings).hash >= 0
    assert limited.standing().hash_epsilon == pytest.approx(1.6)


def test_randomized_bits_keep_their_law(tmp_path: Path) -> None:
    items, codes = person(120, 60)
    kept = 0
    randomness = SeededRandomness(5)
    for number in range(150):
        told = terms(120, bits=16, bit_epsilon_thousandths=1_000, epoch=number)
        made = client(tmp_path, told, hash_only=True, randomness=randomness)
        wrong = made.report(own(items, codes)).hash ^ told.cluster_hash.value(items, codes)
        kept += 16 - wrong.bit_count()
    assert stats.binomtest(kept, 2_400, np.e / (1 + np.e)).pvalue > 1e-4


def test_under_an_epsilon_nothing_rated_is_answered_too(tmp_path: Path) -> None:
    kept, randomness = 0, SeededRandomness(6)
    for epoch in range(150):
        told = terms(120, bits=16, bit_epsilon_thousandths=1_000, epoch=epoch)
        upload = client(tmp_path, told, hash_only=True, randomness=randomness).report({})
        assert Upload.from_json(upload.as_json(), told).ratings == "none"
        kept += upload.hash.bit_count()  # nothing rated is all bits set
    assert stats.binomtest(kept, 2_400, np.e / (1 + np.e)).pvalue > 1e-4
    made = client(tmp_path, terms(bit_epsilon_thousandths=1_000))
    assert len(made.report({}).items) == 80
    assert (made.standing().true, made.standing().fakes) == (0, 80)
    with pytest.raises(InputError, match="nothing to report"):
        client(tmp_path, terms(), hash_only=True).report({})
    with pytest.raises(InputError, match="nothing to report"):
        client(tmp_path, terms(bit_epsilon_thousandths=1_000), reveal=True).report({})
