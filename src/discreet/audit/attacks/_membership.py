"""Is this person in the data? From everything that a fit publishes on its way.

Every statistic is a sum over people, so an attacker who knows a person's ratings knows what that
person would add. There are two attackers. The ideal one knows everybody else too, and compares
likelihoods. The other knows a sample of other people, subtracts what as many people as are in the
data would add, and asks whether the rest points where the person's part does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import Part, likelihood_ratio, touched
from discreet.audit.attacks._attack import Attack, Outcome, judge, most_with_prior
from discreet.audit.attacks._data import Floats, Ints, pick_users
from discreet.methods import Transcript, record_fit
from discreet.privacy import GaussianNoise, SeededRandomness, Unit
from discreet.ratings import Ratings

# Suspects in the data, and as many others.
_VICTIMS = 75
# Budgets of the attacked fits, with the usual delta.
_EPSILONS, _DELTA = (10.0, 1.0, 0.1), GaussianNoise.default_delta
# An epsilon so large that every statistic is measured nearly in full; the attack sees them exact.
_NO_NOISE = 1000.0


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Half of the suspects are in the data."""
    rng = np.random.default_rng([seed, 3])
    order = rng.permutation(ratings.user_count)
    inside, others, sample = np.split(order, [len(order) * 2 // 5, len(order) * 3 // 5])
    count = min(_VICTIMS, len(others))
    suspects = np.concatenate((inside[:count], others[:count]))
    is_in = np.arange(2 * count) < count
    scene = _Scene(ratings, inside, sample, suspects, is_in, seed)
    return scene.outcomes()


ATTACK = Attack(
    name="membership",
    about="whether somebody is in the data, from a fit's statistics",
    source="Homer et al. 2008",
    knows=(
        "all ratings of a suspect, and every statistic that a fit of method slope-one, per user, "
        "has released; the ideal attacker also everybody else's ratings, the other one those of a "
        "sample of people who are not in the data"
    ),
    tries_to="decide whether the suspect is in the data, as every other one is",
    counts="the answer was right",
    remark="Epsilon is of a user. Tossing a coin is right half of the time.",
    outcomes=_outcomes,
)


class _Scene:
    """People who are in the data, others, and a sample that is known to be neither."""

    def __init__(
        self,
        ratings: Ratings,
        inside: Ints,
        sample: Ints,
        suspects: Ints,
        is_in: npt.NDArray[np.bool_],
        seed: int,
    ) -> None:
        self._data, self._sample = pick_users(ratings, inside), pick_users(ratings, sample)
        self._ratings, self._inside, self._numbers = ratings, inside, suspects
        self._suspects = [ratings.select_users(user, user + 1) for user in suspects.tolist()]
        self._is_in, self._seed = is_in, seed

    def outcomes(self) -> list[Outcome]:
        """For both attackers: without noise, then with less and less budget."""
        bare = self._see(_NO_NOISE)
        found = [
            self._outcome("ideal, no noise", self._ideal_exact(bare), None),
            self._outcome("with a sample, no noise", self._by_sample(bare, exact=True), None),
        ]
        for epsilon in _EPSILONS:
            seen = self._see(epsilon)
            judged = partial(self._outcome, epsilon=epsilon)
            found.append(judged(f"ideal, epsilon {epsilon:g}", self._ideal(seen)))
            found.append(judged(f"with a sample, epsilon {epsilon:g}", self._by_sample(seen)))
        return found

    def _see(self, epsilon: float) -> _Seen:
        transcript = record_fit(
            self._data,
            method="slope-one",
            protect=Unit.USER,
            epsilon=epsilon,
            delta=_DELTA,
            randomness=SeededRandomness(f"membership {self._seed} {epsilon}"),
        )
        usual = [part.ravel() for part in transcript.contribution(self._sample)]
        added = (transcript.contribution(suspect) for suspect in self._suspects)
        parts = [[touched(part) for part in each] for each in added]
        return _Seen(transcript, usual, parts)

    def _outcome(self, name: str, scores: Floats, epsilon: float | None) -> Outcome:
        """Against always saying "in".

        Suspects share one draw of the noise, so they are not independent. But half of them are in:
        noise that makes everybody look as if they were in is right about one half and wrong about
        the other. Over 40 draws at epsilon 1 the share of right answers had a standard deviation of
        0.050, where independent ones have 0.057: bands are not too narrow.
        """
        won = (scores > 0) == self._is_in
        if epsilon is None:
            return judge(name, won, self._is_in, is_protected=False)
        most = most_with_prior(0.5, epsilon, _DELTA)  # the chances beforehand are known
        return judge(name, won, self._is_in, is_protected=True, bound=lambda _: most)

    def _ideal(self, seen: _Seen) -> Floats:
        """The log of how much likelier the outputs are with the suspect than without."""
        pairs = zip(seen.parts, self._is_in.tolist(), strict=True)
        return np.array(
            [likelihood_ratio(seen.transcript, parts, is_there=is_in) for parts, is_in in pairs]
        )

    def _ideal_exact(self, seen: _Seen) -> Floats:
        """Likewise without noise: what is left of the exact statistics without everybody else.

        Everybody else's part is computed from their ratings. What is left is the suspect's own
        part, or nothing.
        """
        scores = np.zeros(len(seen.parts))
        nobody_less = seen.transcript.contribution(self._data)
        for row, user in enumerate(self._numbers.tolist()):
            known = nobody_less
            if user in self._inside:
                others = pick_users(self._ratings, self._inside[self._inside != user])
                known = seen.transcript.contribution(others)
            for spoken, rest, (at, own) in zip(
                seen.transcript.spoken, known, seen.parts[row], strict=True
            ):
                left = (spoken.exact.ravel()[at] - rest.ravel()[at]) / spoken.spread
                scores[row] += float((own / spoken.spread) @ (left - own / spoken.spread / 2))
        return scores

    def _by_sample(self, seen: _Seen, *, exact: bool = False) -> Floats:
        """Where what remains lies, from without the suspect (-1/2) to with them (1/2).

        Only statistics that count are looked at, where nobody takes anything away. An entry is
        spread by its noise and by whom the data happens to hold: about as much as it has people.
        """
        people = self._data.user_count / self._sample.user_count
        met, whole = np.zeros(len(seen.parts)), np.full(len(seen.parts), 1e-300)
        for place, spoken in enumerate(seen.transcript.spoken):
            if (seen.usual[place] < 0).any():
                continue
            values = (spoken.exact if exact else spoken.noisy).ravel()
            noise = 0.0 if exact else spoken.spread**2
            for row, parts in enumerate(seen.parts):
                at, own = parts[place]
                expected = people * seen.usual[place][at]
                spread = own * (expected + own) + noise
                met[row] += float((own / spread) @ (values[at] - expected))
                whole[row] += float((own / spread) @ own)
        return np.asarray(met / whole - 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class _Seen:
    """A fit, what the sample would add to each statistic, and each suspect, and where."""

    transcript: Transcript
    usual: list[Ints]
    parts: list[list[Part]]
