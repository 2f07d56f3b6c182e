"""Noise that is too small, drawn twice, or booked and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.audit.lower_bound._canaries import OneRunSubject, about_one_run
from discreet.audit.lower_bound._claims import Claim
from discreet.audit.lower_bound._engine import PairSubject, Subject
from discreet.audit.lower_bound._mechanisms import (
    CHOOSERS,
    SPENDS,
    LedgerSubject,
    ResponseSubject,
    selection,
)
from discreet.audit.lower_bound._noisy import RUNS, NoisySubject, release
from discreet.audit.lower_bound._pipelines import EffectsSubject, PipelineSubject, about_fit
from discreet.methods import MethodName
from discreet.privacy import Event, Noise, Randomness, SeededRandomness, Unit
from discreet.privacy.accounting import Totals
from discreet.privacy.ledger import Ledger
from discreet.privacy.mechanisms import Moves, RoundedGaussian

_Floats = npt.NDArray[np.float64]


FACTORS = {Noise.GAUSSIAN: 2.0, Noise.LAPLACE: 6.0}
"""By how much a fit's noise is too small: what is spread over many numbers is hard to see."""
WHOLE = {Noise.GAUSSIAN: (MethodName.COVARIANCE, 2.0), Noise.LAPLACE: (MethodName.SLOPE_ONE, 6.0)}
"""The same of whole fits, tastes and all, and of which method."""
ONE_RUN = 16.0
"""The same of a fit that is made once."""


def noise_bugs() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Names and what makes the subjects."""
    for noise in Noise:
        yield f"half-noise/{noise}", partial(_half_noise, noise)
        name, factor = f"thin-noise/pipeline/{noise}", FACTORS[noise]
        told = (
            name,
            about_fit("a fit up to item effects", Unit.USER, factor),
            MethodName.COVARIANCE,
        )
        yield name, partial(EffectsSubject, *told, Unit.USER, noise, factor=factor, runs=1000)
        name, (method, factor) = f"thin-noise/whole-fit/{noise}", WHOLE[noise]
        told = (name, about_fit("a whole fit", Unit.USER, factor), method)
        yield name, partial(PipelineSubject, *told, Unit.USER, noise, factor=factor, runs=400)
        name = f"thin-noise/one-run/{noise}"
        once = (name, about_one_run(ONE_RUN), Unit.USER, noise)
        yield name, partial(OneRunSubject, *once, factor=ONE_RUN)
    name = "half-noise/randomized-response"
    yield name, partial(ResponseSubject, name, drawn=0.5)
    yield "reused-seed/two-statistics", ReusedSeedSubject
    for kind in ("pure", "gaussian"):
        name = f"forgetful-ledger/{kind}"
        yield name, partial(LedgerSubject, name, SPENDS[kind], opens=ForgetfulLedger.open)
    for kind, chooser in CHOOSERS.items():
        name = f"dropped-candidates/{kind}"
        yield name, partial(selection, name, chooser, Moves.ONE, dropped=(0,))


def _half_noise(noise: Noise) -> Subject:
    """Noise scaled by a half, booked as if it were whole."""
    about = "noise of half the size that was booked"
    right = NoisySubject("", about, np.array([1 << 20]), np.array([0]), noise, float(1 << 20))
    return replace(right, name=f"half-noise/{noise}", drawn=0.5)


@dataclass(frozen=True)
class ReusedSeedSubject(PairSubject):
    """A sum and a count with the same noise, because both began from one seed."""

    runs: int = RUNS

    name, about = "reused-seed/two-statistics", "a sum and a count whose noise began from one seed"
    sigma, sensitivities = 4.0, (4.0, 1.0)

    @property
    def claim(self) -> Claim:
        mechanism = RoundedGaussian(self.sigma)
        return Claim.of([mechanism.event(s, Unit.RATING, "audit") for s in self.sensitivities])

    def draw(self, world: int, runs: int, randomness: Randomness) -> _Floats:
        seed = randomness.bits(64)
        columns = [
            release(
                np.full(runs, 0 if world else round(moved)), Noise.GAUSSIAN, self.sigma, moved,
                SeededRandomness(seed),
            )
            for moved in self.sensitivities
        ]  # fmt: skip
        return np.column_stack(columns).astype(np.float64)


class ForgetfulLedger(Ledger):
    """Looks at each charge as if it were the first."""

    def _after(self, spent: dict[Unit, Totals], events: Sequence[Event]) -> dict[Unit, Totals]:  # type: ignore[override]
        return dict(super()._after(dict.fromkeys(spent, Totals()), events))
