"""From ratings to a release. Charge, then draw.

`fit` is the way in. `record_fit` keeps everything that a fit releases on its way, for those who
want to attack it.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure import (
    Budget,
    GivenLedger,
    RatingsSource,
    Request,
    Spender,
    is_named,
    mentioning_charge,
    open_ledger,
)
from discreet.methods._method import METHODS, Learnt, Method, Progress, Task, method_of
from discreet.methods._names import DEFAULT_EPSILON
from discreet.methods._room import check_room
from discreet.privacy import NO_NOISE, SEEDED, Guarantee, Noise, Randomness, Receipt, Unit
from discreet.ratings import Intake, Ratings
from discreet.release import Release

# The most public features: each costs a direction of taste, and more would drown in noise.
MOST_FEATURES = 64
# The largest feature, in size: its square is far from what a float cannot hold.
_LARGEST_FEATURE = 1e9

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def fit(
    ratings: RatingsSource,
    *,
    method: Method | str | None = None,
    protect: Unit | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    theta: float | None = None,
    noise: Noise | str | None = None,
    ledger: GivenLedger = None,
    features: npt.ArrayLike | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Measure ratings under a guarantee and make a release.

    Args:
        ratings: Private; `discreet.spark.read` makes some from a table on a cluster.
        method: `refined`, the default for ratings; `lists`, the default for presence; or one of
            the papers': `covariance`, `slope-one`, `cosine`; or a method with its settings, like
            `CosineMethod(weight_share=0.2)`.
        protect: `user`, the default, or `rating`.
        epsilon: The budget; 1 unless it or `theta` is given. Infinite adds no noise.
        delta: For Gaussian noise, 1e-6 by default; Laplace noise has 0.
        theta: The same budget in McSherry and Mironov's terms: the total of their split of theta,
            divided between the stages as usual here.
        noise: `gaussian`, the default, or `laplace`.
        ledger: The ledger to charge before anything is measured, or its file. `"unbooked"` for
            none: then the release says that its cost is not recorded in any ledger (a file with
            that name is given as a `Path`). Needed unless the release protects nobody: with a
            seeded source of randomness, or an infinite epsilon.
        features: Public: a row for each item of the catalogue, of any meaning; for `refined` and
            `lists`.
        randomness: For experiments: a seeded source makes a release that says "not private".
        progress: Called with a stage's name, how much of it is done and how much there is: numbers
            of private records, for the curator's eyes alone.
        options: Settings of the method by name, the fields of `RefinedMethod` and so on.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was measured.
        InputError: The ratings or the budget cannot be used.

    Example:
        >>> import discreet, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> limit = discreet.Limit(discreet.Unit.USER, epsilon=3, delta=1e-6)
        >>> ledger = discreet.Ledger.create(folder / "shop.ledger", "customers", [limit])
        >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
        >>> release = discreet.fit(ratings, epsilon=1.0, ledger=ledger)
        >>> print(str(release.guarantee).splitlines()[0])
        epsilon 1, delta 1e-06, per user
        >>> release.save(folder / "films.discreet")
        >>> len(ledger.history())
        1
    """
    options |= {"protect": protect, "noise": noise}
    chosen = _method(ratings, method, options)
    public = public_features(features, len(ratings.catalog), chosen)
    budget = _budget(ratings, chosen, epsilon, delta, theta)
    request = _request(ratings, chosen, budget, public)
    book = open_ledger(ledger)
    label = _label(chosen)
    if budget.is_infinite:
        if is_named(ledger):
            raise InputError("a release without noise cannot be booked: no ledger has room for it")
        spender = Spender(budget, None, label)
    else:
        if book is not None:  # what was charged is never given back
            check_room(chosen, len(ratings.catalog))
        receipt = request.charge([budget.event(label)], label, book or ledger, randomness)
        spender = Spender(budget, receipt, label)
    with mentioning_charge(book is not None):
        learnt = chosen.learn(Task(ratings, spender, public, progress))
        release = release_of(request, _guarantee(request, spender), chosen, learnt)
        if book is not None and spender.charge is not None:
            book.record_publication(spender.charge, release.digest())
    return release


def _method(ratings: RatingsSource, method: Method | str | None, options: dict[str, Any]) -> Method:
    """The method; refuses what it cannot be fitted to, by public things alone."""
    if not hasattr(ratings, "catalog"):
        kind = type(ratings).__name__
        raise InputError(f"fit takes ratings, as read_ratings returns them, not a {kind}")
    unset = [name for name in ("protect", "noise") if options.get(name) is None]
    chosen = method_of(
        method,
        {name: value for name, value in options.items() if name not in unset},
        presence=ratings.scale.presence,
    )
    if len(ratings.catalog) < 2:
        raise InputError("a fit needs a catalogue of at least two items")
    chosen.check(ratings)
    return chosen


def public_features(features: npt.ArrayLike | None, items: int, method: Method) -> _Floats | None:
    """Item features, checked; None if there are none.

    Raises:
        InputError: They are not finite numbers, a row for each item, or the method takes none.
    """
    if features is None:
        return None
    if not method.takes_features:
        names = " and ".join(sorted(m.name for m in METHODS.values() if m.takes_features))
        raise InputError(f"item features are for methods {names}")
    try:
        values = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 2 or len(values) != items or not np.all(np.isfinite(values)):
        raise InputError(f"item features are finite numbers, a row for each of {items:,} items")
    if np.abs(values).max(initial=0.0) > _LARGEST_FEATURE:
        raise InputError(
            f"item features are numbers up to {_LARGEST_FEATURE:g} in size; "
            "express them in a larger unit"
        )
    if values.shape[1] > MOST_FEATURES:
        raise InputError(f"{values.shape[1]:,} item features; at most {MOST_FEATURES} can be used")
    return values if values.shape[1] else None


def _budget(
    ratings: RatingsSource,
    method: Method,
    epsilon: float | None,
    delta: float | None,
    theta: float | None,
) -> Budget:
    if delta is None:
        delta = method.noise.kind.default_delta
    if theta is None:
        epsilon = DEFAULT_EPSILON if epsilon is None else epsilon
        budget = Budget.of(method.protect, method.noise, epsilon, delta)
    elif epsilon is not None:
        raise InputError("give the budget as epsilon or as theta, not both")
    else:
        budget = Budget.of_theta(method.protect, method.noise, theta, delta)
    return budget.bounded_by(ratings.intake)


def _request(
    ratings: RatingsSource, method: Method, budget: Budget, features: _Floats | None
) -> Request:
    """Everything public that a fit is asked for with."""
    columns = None if features is None else hashlib.sha256(features.tobytes()).hexdigest()
    return Request.of(
        ratings, method.protect, method.name, settings=method, budget=budget, features=columns
    )


def _label(method: Method) -> str:
    return f"{method.name} release"


def release_of(request: Request, promise: Guarantee, method: Method, learnt: Learnt) -> Release:
    """What a method made, with its guarantee and its settings.

    Args:
        request: With the scale and the catalogue.
        promise: The guarantee.
        method: With its settings.
        learnt: What it made.
    """
    source = request.ratings
    settings = {
        name: str(value) if isinstance(value, str) else value
        for name, value in vars(method).items()
    }
    parameters = {**learnt.parameters, "settings": settings}
    release = Release(
        str(method.name), source.scale, source.catalog, promise, parameters, learnt.arrays
    )
    # The page, which computes little, shows these words as they are.
    return replace(release, parameters={**parameters, "learnt": release.learnt.to_dict()})


def _guarantee(request: Request, spender: Spender) -> Guarantee:
    budget = spender.budget
    if budget.is_infinite:
        return request.promise(spender.promised, 0.0, spender.charge, NO_NOISE)
    reasons = () if spender.is_private else (SEEDED,)
    return request.promise(spender.promised, budget.delta, spender.charge, *reasons)


@dataclass(frozen=True, eq=False, repr=False)
class Spoken:
    """One part of a statistic as it was released.

    Attributes:
        label: What it is.
        exact: Private: what it is without noise, in grid units.
        noisy: What was released.
        sensitivity: The one that was booked.
        spread: The standard deviation of the noise on each number.
    """

    label: str
    exact: _Ints
    noisy: _Ints
    sensitivity: float
    spread: float

    def __repr__(self) -> str:
        return f"Spoken({self.label}, private)"


@dataclass(frozen=True, eq=False, repr=False)
class Transcript:
    """A fit with all of its outputs. Private, as it has the exact statistics too.

    A release holds what was made of the noisy statistics; the statistics themselves are as public.
    Each is a sum over people of whole numbers that depend on that person and on earlier outputs
    alone: so one person's part in all of them is what a fit of that person alone would measure if
    it were given the same outputs.

    Attributes:
        release: What was made of it.
        budget: What was spent.
        method: With the settings of the fit.
        intake: How the ratings came in, which is public.
        spoken: Every part of every statistic, in order.
    """

    release: Release
    budget: Budget
    method: Method
    intake: Intake
    spoken: tuple[Spoken, ...]

    def __repr__(self) -> str:
        return f"Transcript(private, {len(self.spoken)} statistics)"

    def contribution(self, ratings: Ratings) -> list[_Ints]:
        """What these people's ratings add to each statistic, given everything released before it.

        Args:
            ratings: Of one person or of some, on the catalogue and the scale of the fit, with times
                if it had them.
        """
        spender = _Replaying(self.budget, self.spoken)
        same = replace(ratings, intake=self.intake)
        with contextlib.suppress(_HeardAll):
            self.method.learn(Task(same, spender))
        assert len(spender.heard) == len(self.spoken)
        return spender.heard


def record_fit(
    ratings: Ratings,
    *,
    method: Method | str | None = None,
    protect: Unit | str | None = None,
    epsilon: float = DEFAULT_EPSILON,
    delta: float | None = None,
    noise: Noise | str | None = None,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
    **options: Any,
) -> Transcript:
    """A fit as `fit` makes it, with a budget, and all of its outputs beside the release.

    For experiments and attacks: a ledger is charged, but does not learn of the release. Arguments
    are those of `fit`.

    Raises:
        InputError: The method or the budget cannot be used.
    """
    if math.isinf(epsilon):
        raise InputError("without noise there is nothing to attack: epsilon must be finite")
    options |= {"protect": protect, "noise": noise}
    chosen = _method(ratings, method, options)
    budget = _budget(ratings, chosen, epsilon, delta, None)
    label = _label(chosen)
    request = _request(ratings, chosen, budget, None)
    receipt = request.charge([budget.event(label)], label, ledger, randomness)
    spender = _Recording(budget, receipt, label)
    learnt = chosen.learn(Task(ratings, spender))
    release = release_of(request, _guarantee(request, spender), chosen, learnt)
    return Transcript(release, budget, chosen, ratings.intake, tuple(spender.spoken))


class _Recording(Spender):
    """Keeps what it releases."""

    def __init__(self, budget: Budget, receipt: Receipt, label: str) -> None:
        super().__init__(budget, receipt, label)
        self.spoken: list[Spoken] = []

    def perturb(
        self, exact: _Ints, sensitivity: float, share: float, label: str
    ) -> tuple[_Ints, float]:
        before = exact.copy()
        noisy, spread = super().perturb(exact, sensitivity, share, label)
        self.spoken.append(Spoken(label, before, noisy.copy(), sensitivity, spread))
        return noisy, spread


class _HeardAll(Exception):
    """The last statistic was measured; what would be made of it is of no interest."""


class _Replaying(Spender):
    """Releases what was released before, whatever the ratings are, and keeps what they add."""

    def __init__(self, budget: Budget, spoken: tuple[Spoken, ...]) -> None:
        # Draws nothing, so there is nothing to pay for.
        self.budget = budget
        self._purse = None
        self._spoken = spoken
        self.heard: list[_Ints] = []

    def perturb(
        self, exact: _Ints, sensitivity: float, share: float, label: str
    ) -> tuple[_Ints, float]:
        del share  # of a budget that was spent before
        before = self._spoken[len(self.heard)]
        assert (label, sensitivity, exact.shape) == (
            before.label,
            before.sensitivity,
            before.exact.shape,
        ), f"'{label}' depends on something that was not released"
        self.heard.append(exact.copy())
        if len(self.heard) == len(self._spoken):
            raise _HeardAll
        return before.noisy.copy(), before.spread
