"""Fits that are audited: what is added is seen by every statistic, and by a score of outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit._likelihood import likelihood_ratio, log_ratio, scale_of, touched
from discreet.audit.lower_bound import SUBJECTS, audit
from discreet.audit.lower_bound._pipelines import EffectsSubject, PipelineSubject
from discreet.methods import Transcript, record_fit
from discreet.privacy import Noise, SeededRandomness

FITS = [name for name in SUBJECTS if name.startswith("pipeline/") and "release" not in name]
PAIRS = {
    "covariance": "item covariance",
    "refined": "item covariance",
    "slope-one": "pair differences",
    "cosine": "pair products",
}


def recorded(name: str, world: int) -> tuple[PipelineSubject, Transcript, list[np.ndarray]]:
    """A fit of a world, and what is added to each of its statistics."""
    subject = SUBJECTS[name]()
    assert isinstance(subject, PipelineSubject)
    told = subject._told(SeededRandomness(4))
    transcript = record_fit(subject._worlds[world], **told)
    with_it, without = (transcript.contribution(own) for own in subject._own)
    if not subject.neighbours.without:
        return subject, transcript, with_it
    return subject, transcript, [a - b for a, b in zip(with_it, without, strict=True)]


@pytest.mark.parametrize("name", FITS)
def test_the_score_is_one_function_of_the_outputs_in_both_worlds(name: str) -> None:
    """Sums of the other world follow from the outputs: those of its ratings, given what came out.

    Otherwise the event that is counted would not be one of outputs alone, and could prove too much.
    """
    for world in (0, 1):
        subject, transcript, added = recorded(name, world)
        other = transcript.contribution(subject._worlds[1 - world])
        for spoken, part, would in zip(transcript.spoken, added, other, strict=True):
            moved = spoken.exact - part if world == 0 else spoken.exact + part
            assert np.array_equal(moved.ravel(), would.ravel()), spoken.label


@pytest.mark.parametrize("name", FITS)
def test_what_is_added_is_within_the_claim_and_near_it(name: str) -> None:
    """Without any run: how far apart the two worlds are, given the outputs of one of them."""
    subject, transcript, added = recorded(name, 0)
    noise, moved = subject.noise, []
    for spoken, part in zip(transcript.spoken, added, strict=True):
        apart = np.abs(part.astype(np.float64)).ravel() / scale_of(spoken, noise)
        moved.append(float(apart.sum() if noise is Noise.LAPLACE else math.sqrt(apart @ apart)))
    whole = sum(moved) if noise is Noise.LAPLACE else math.hypot(*moved)
    assert whole <= subject.claim.size * (1 + 1e-6)
    least = 0.35 if name.endswith("rating/laplace") else 0.7
    assert whole > least * subject.claim.size
    if not isinstance(subject, EffectsSubject):
        label = PAIRS[str(subject.method)]
        places = [at for at, spoken in enumerate(transcript.spoken) if spoken.label == label]
        assert places and all(moved[at] > 0 for at in places), "tastes are audited too"


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
    subject, transcript, added = recorded("pipeline/covariance/user/gaussian", 0)
    whole = likelihood_ratio(transcript, list(map(touched, added)), is_there=True)
    single = []
    for at, part in enumerate(added):
        alone = [touched(part if n == at else 0 * each) for n, each in enumerate(added)]
        single.append(likelihood_ratio(transcript, alone, is_there=True))
    assert whole == pytest.approx(sum(single)) and max(map(abs, single)) > 0.1
    assert subject.claim.mu is not None


@pytest.mark.parametrize(
    "name", ["pipeline/slope-one/user/laplace", "pipeline/cosine/user/laplace"]
)
def test_laplace_noise_of_whole_fits_is_seen_through_in_part(name: str) -> None:
    """Some of the claim is found: an audit that finds nothing would say nothing."""
    found = audit(SUBJECTS[name](), runs=600, confidence=0.99, seed=1)
    assert 0.1 < found.reached <= 1
