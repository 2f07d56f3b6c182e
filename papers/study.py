"""What figures are made on: ratings, how much work to spend, and held-out ratings to judge by."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.evaluate import people_of, rmse
from discreet.ratings import Ratings, Split, find_shape, make_ratings, read_ratings

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""

_Each = TypeVar("_Each")
_Made = TypeVar("_Made")

# Ratings, people and items of the Netflix Prize's data, which two of the papers used.
NETFLIX = (100_480_507, 480_189, 17_770)


class Size(enum.StrEnum):
    """How much work a figure is."""

    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True)
class Effort:
    """How much of everything; larger figures are smoother and take longer. Chosen by hand.

    Attributes:
        ratings: How many to make up where no data is given.
        most_ratings: At most this many of real data, of people chosen at random; 0 takes all.
        draws: Of the noise.
        cuts: Points in time.
        beacons: Draws of a hash.
        bits: The most bits of a hash.
        percents: Fakes per hundred true ratings.
        attacks: On noisy answers.
        answers: How many epsilons noisy answers are tried with.
        people: Who get lists of ten.
        walkers: Whose chain is walked.
        iterations: The most steps of a chain.
        directory: Members of a closed system, from the client's side.
        uploads: Members of it that a server matches.
        cells: People and items of a completed matrix.
        completions: Epsilons of reports on it.
        epsilons: Of reports on real ratings.
    """

    ratings: int = 300_000
    most_ratings: int = 250_000
    draws: int = 1
    cuts: int = 5
    beacons: int = 3
    bits: int = 10
    percents: tuple[int, ...] = (0, 50, 100, 200)
    attacks: int = 400
    answers: int = 13
    people: int = 300
    walkers: int = 4
    iterations: int = 10_000
    directory: int = 20_000
    uploads: int = 1_000
    cells: tuple[int, int] = (100, 50)
    completions: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
    epsilons: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)


EFFORTS = {
    Size.SMALL: Effort(),
    Size.FULL: Effort(
        ratings=1_000_000,
        most_ratings=0,
        draws=3,
        cuts=8,
        beacons=10,
        bits=16,
        percents=(0, 25, 50, 75, 100, 125, 150, 175, 200),
        attacks=2_000,
        answers=25,
        people=1_000,
        walkers=10,
        iterations=100_000,
        directory=NETFLIX[1],
        uploads=5_000,
        cells=(200, 100),
        completions=(0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0),
        epsilons=(0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0),
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Ratings to make figures on. Private, unless they are made up or public.

    Attributes:
        name: What figures call them.
        ratings: The ratings.
        effort: How much work to spend.
        made_up: Whether they are synthetic.
        part: Whether they are some people of a larger data set.
        progress: Called as work proceeds.
    """

    name: str
    ratings: Ratings
    effort: Effort
    made_up: bool = False
    part: bool = False
    progress: Progress | None = None
    _made: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], _Made]) -> _Made:
        """What `make` returns, computed once for all figures of the study that use this name."""
        if name not in self._made:
            self._made[name] = make()
        made: _Made = self._made[name]
        return made

    def each(self, stage: str, things: Sequence[_Each]) -> Iterator[_Each]:
        """The things one after the other, with progress."""
        for done, thing in enumerate(things):
            if self.progress is not None:
                self.progress(stage, done, len(things))
            yield thing
        if self.progress is not None:
            self.progress(stage, len(things), len(things))

    @property
    def is_netflix(self) -> bool:
        """Whether these are the papers' own data."""
        size = (len(self.ratings), self.ratings.user_count, len(self.ratings.catalog))
        return not self.made_up and size[2] == NETFLIX[2] and size[1] > NETFLIX[1] // 2

    def sentence(self) -> str:
        """What the figure was made on."""
        ratings = self.ratings
        sizes = (
            f"{len(ratings):,} ratings by {ratings.user_count:,} people of "
            f"{len(ratings.catalog):,} items"
        )
        if self.made_up:
            return f"Made on made-up ratings of the Netflix Prize's shape: {sizes}."
        some = "some people of " if self.part else ""
        return f"Made on {some}{self.name}: {sizes}."


def open_study(
    data: Path | None,
    effort: Effort | Size | str = Size.SMALL,
    *,
    made_up: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Study:
    """Ratings from a file or folder, or made up.

    Args:
        data: A file of ratings, the folder of a known data set, or a folder that contains some
            under their usual names; made up in the Netflix Prize's shape if absent.
        effort: How much work to spend.
        made_up: How many ratings to make up; by default as many as `effort` says.
        progress: Called with a stage's name, how much of it is done and how much there is.
        reading: Options of `read_ratings`: `scale`, `catalog`, `columns`, `layout`,
            `on_bad_rows`.

    Raises:
        InputError: The ratings cannot be read, or have no values.
    """
    effort = effort if isinstance(effort, Effort) else EFFORTS[Size(effort)]
    if data is None:
        shape = find_shape("netflix").scaled(ratings=made_up or effort.ratings)
        ratings = make_ratings(shape, seed=1)
        return Study("made up, Netflix shape", ratings, effort, made_up=True, progress=progress)
    folder = _find(data, effort)
    ratings = read_ratings(folder, **reading)
    if ratings.scale.presence:
        raise InputError("the papers' figures need ratings; these are interactions", path=data)
    fewer = _at_most(ratings, effort.most_ratings)
    is_part = len(fewer) < len(ratings)
    return Study(folder.resolve().name, fewer, effort, part=is_part, progress=progress)


def _find(data: Path, effort: Effort) -> Path:
    """The folder itself, or the known data set that it contains."""
    if not data.exists():
        raise InputError(
            "does not exist; give a file of ratings or the folder of a data set, such as ml-1m, or "
            "leave --data out for made-up ratings",
            path=data,
        )
    known = ["ml-100k", "ml-1m", "ml-latest-small"]
    if not effort.most_ratings:
        known = ["netflix", "ml-1m", "ml-100k", "ml-latest-small"]
    return next((data / name for name in known if (data / name).is_dir()), data)


def _at_most(ratings: Ratings, most: int) -> Ratings:
    """The ratings of randomly chosen people who have at most this many together."""
    if not most or len(ratings) <= most:
        return ratings
    order = np.random.default_rng(1).permutation(ratings.user_count)
    counts = np.diff(ratings.starts)
    chosen = np.zeros(ratings.user_count, dtype=np.bool_)
    chosen[order[np.cumsum(counts[order]) <= most]] = True
    return of_people(ratings, chosen)


def of_people(ratings: Ratings, chosen: npt.NDArray[np.bool_]) -> Ratings:
    """The ratings of the marked people, and nobody else."""
    part = ratings.where(np.repeat(chosen, np.diff(ratings.starts)))
    starts = np.concatenate((part.starts[:-1][chosen], part.starts[-1:]))
    users = None if part.users is None else part.users[chosen]
    return replace(part, starts=starts, users=users)


class Trial:
    """Judges predictors by the held-out ratings of a split. Private.

    Args:
        split: Its train part holds people's own ratings.
    """

    def __init__(self, split: Split) -> None:
        self.split = split
        self.people = people_of(split.train)
        self.rows = split.test.user_of_rating().astype(np.int64)
        self.wanted = split.test.values()

    def __repr__(self) -> str:
        return "Trial(private)"

    def error(self, predictor: Any) -> float:
        """The RMSE of held-out ratings."""
        items = self.split.test.items
        return rmse(predictor.predict_pairs(self.people, self.rows, items), self.wanted)
