"""Fits that are audited: what is added is seen by every statistic, and by a score of outputs."""

from __future__ import annotations

import dataclasses
import math
from functools import cache

import numpy as np
import pytest

from audit.battery import Observed
from discreet.audit._likelihood import likelihood_ratio, log_ratio, scale_of, touched
from discreet.audit.lower_bound import SUBJECTS
from discreet.audit.lower_bound._fits import Fit, FitSubject
from discreet.methods import Transcript
from discreet.privacy import Noise, SeededRandomness

FITS = [name for name in SUBJECTS if name.startswith("pipeline/") and "release" not in name]
PAIRS = {
    "covariance": ("item covariance",),
    "refined": ("item covariance", "presence pairs"),
    "lists": ("presence pairs",),
    "slope-one": ("pair differences",),
    "cosine": ("pair products",),
}


@cache
def recorded(name: str, world: int) -> tuple[Fit, Transcript, list[np.ndarray]]:
    """A fit of a world, and what is added to each of its statistics."""
    subject = SUBJECTS[name].make()
    assert isinstance(subject, FitSubject)
    transcript = subject.fit.record(world, SeededRandomness(4))
    return subject.fit, transcript, subject.fit.added(transcript)


@pytest.mark.parametrize("name", FITS)
def test_the_score_is_one_function_of_the_outputs_in_both_worlds(name: str) -> None:
    """Sums of the other world follow from the outputs: those of its ratings, given what came out.

    Otherwise the event that is counted would not be one of outputs alone, and could prove too much.
    """
    for world in (0, 1):
        fit, transcript, added = recorded(name, world)
        other = transcript.contribution(fit.worlds[1 - world])
        for spoken, part, would in zip(transcript.spoken, added, other, strict=True):
            moved = spoken.exact - part if world == 0 else spoken.exact + part
            assert np.array_equal(moved.ravel(), would.ravel()), spoken.label


# How much of a claim one person's records take, where it is less than usual: in L1 a record moves
# few of the numbers that a budget is spent on, and lists spend much of theirs on recent counts.
LEAST = {name: 0.35 for name in FITS if name.endswith("rating/laplace")}
LEAST |= {"pipeline/lists/rating/laplace": 0.3, "pipeline/lists/user/laplace": 0.55}


@pytest.mark.parametrize("name", FITS)
def test_what_is_added_is_within_the_claim_and_near_it(name: str) -> None:
    """Without any run: how far apart the two worlds are, given the outputs of one of them."""
    fit, transcript, added = recorded(name, 0)
    noise, moved = fit.noise, []
    for spoken, part in zip(transcript.spoken, added, strict=True):
        apart = np.abs(part.astype(np.float64)).ravel() / scale_of(spoken, noise)
        moved.append(float(apart.sum() if noise is Noise.LAPLACE else math.sqrt(apart @ apart)))
    whole = sum(moved) if noise is Noise.LAPLACE else math.hypot(*moved)
    assert whole <= fit.claim.size * (1 + 1e-6)
    assert whole > LEAST.get(name, 0.7) * fit.claim.size
    if not fit.effects_only:
        for label in PAIRS[str(fit.method)]:
            places = [at for at, spoken in enumerate(transcript.spoken) if spoken.label == label]
            # Where so much noise hides the items, lists count them once more and leave pairs out.
            hidden = name.endswith("/laplace") and label == "presence pairs"
            assert places or hidden
            assert all(moved[at] > 0 for at in places), "tastes are audited too"


@pytest.mark.parametrize("unit", ["rating", "user"])
@pytest.mark.parametrize("method", ["lists", "refined"])
def test_when_records_were_made_is_audited_too(method: str, unit: str) -> None:
    """Times are part of ratings: one person's part in the statistics of them is replayed."""
    fit, transcript, added = recorded(f"pipeline/{method}/{unit}/gaussian", 0)
    parts = dict(zip((spoken.label for spoken in transcript.spoken), added, strict=True))
    assert parts["records by period"].sum() > 0
    if "recent item counts" in parts:
        assert set(np.flatnonzero(parts["recent item counts"])) <= fit.neighbours.added.keys()
    without = dataclasses.replace(fit.worlds[0], times=None)
    with pytest.raises(AssertionError, match="was not released"):
        transcript.contribution(without)


@pytest.mark.parametrize("noise", Noise)
def test_the_ratio_is_that_of_the_densities(noise: Noise) -> None:
    rng = np.random.default_rng(1)
    first, second, noisy = rng.integers(-50, 50, (3, 6))
    scale = 7.0
    if noise is Noise.GAUSSIAN:
        logs = [-((noisy - each) ** 2).sum() / (2 * scale**2) for each in (first, second)]
    else:
        logs = [-np.abs(noisy - each).sum() / scale for each in (first, second)]
    assert float(log_ratio(noisy, first, second, noise, scale)) == pytest.approx(logs[0] - logs[1])
    rows = np.array([noisy, first, second])
    found = log_ratio(rows, first, second, noise, scale)
    assert found.shape == (3,) and found[1] > 0 > found[2]


def test_a_ratio_of_a_whole_fit_adds_up_over_statistics() -> None:
    fit, transcript, added = recorded("pipeline/covariance/user/gaussian", 0)
    whole = likelihood_ratio(transcript, list(map(touched, added)), is_there=True)
    single = []
    for at, part in enumerate(added):
        alone = [touched(part if n == at else 0 * each) for n, each in enumerate(added)]
        single.append(likelihood_ratio(transcript, alone, is_there=True))
    assert whole == pytest.approx(sum(single)) and max(map(abs, single)) > 0.1
    assert fit.claim.mu is not None


@pytest.mark.parametrize("name", ["pipeline/effects/user/laplace"])
def test_laplace_noise_of_fits_is_seen_through_in_part(name: str, observed: Observed) -> None:
    """Some of the claim is found: an audit that finds nothing would say nothing."""
    found = observed(name)[1].finding(0.99)
    assert 0.1 < found.reached <= 1
