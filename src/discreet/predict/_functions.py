"""What the commands `recommend`, `similar` and `predict` do, as functions of a release."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Recommendations, SimilarItems
from discreet.release import Names, Own, Release, Where, load

AnyRelease = Release | str | os.PathLike[str]
"""A release, or its file."""


def recommend(
    release: AnyRelease,
    own: Own = (),
    n: int = 10,
    *,
    predictor: str | None = None,
    only: Names | None = None,
    exclude: Names = (),
    where: Where | None = None,
    explain: bool = False,
    **options: Any,
) -> Recommendations:
    """The items of a release that suit a person best; nothing leaves this machine.

    For many people, make the predictor once: `release.predictor()` has the same methods.

    Args:
        release: The release, or its file.
        own: The person's own ratings: `{"Alien": 5}`, by title or id; titles alone for a release
            of interactions; nobody's by default.
        n: How many, at most.
        predictor: Which one; the release's own if absent.
        only: Ids, titles or catalogue indices to choose among; all items if absent.
        exclude: Ids, titles or catalogue indices to leave out.
        where: Values that items must have in columns of the catalogue: `{"genres": "Comedy"}`.
        explain: Name with each the own ratings that raise its score most.
        options: The predictor's own, like `order="expected"`.

    Raises:
        InputError: The file is not a release, or an argument cannot be used.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
        >>> release = discreet.fit(
        ...     ratings, epsilon=8.0, randomness=discreet.SeededRandomness(1)
        ... )
        >>> first = release.catalog.titles[0]
        >>> films = discreet.recommend(release, {first: 5}, 3)
        >>> len(films), first in [film.title for film in films]
        (3, False)
        >>> 1 <= films[0].expected <= 5
        True
    """
    model = _opened(release).predictor(predictor, **options)
    return model.recommend(own, n, only=only, exclude=exclude, where=where, explain=explain)


def similar(
    release: AnyRelease,
    item: str | int,
    n: int = 10,
    *,
    only: Names | None = None,
    exclude: Names = (),
    where: Where | None = None,
) -> SimilarItems:
    """The items of a release that are most like one; the most alike first.

    Args:
        release: The release, or its file.
        item: An id, title or catalogue index.
        n: How many, at most.
        only: As for `recommend`, like the next two.
        exclude: Items to leave out.
        where: Values of columns.

    Raises:
        InputError: The file is not a release, the item is unknown, or the release does not say
            what items are alike.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=20000, seed=1)
        >>> release = discreet.fit(
        ...     ratings, epsilon=20.0, protect="rating", randomness=discreet.SeededRandomness(1)
        ... )
        >>> popular = int(release.arrays["item_counts"].argmax())
        >>> all(0 < film.similarity <= 1 for film in discreet.similar(release, popular, 5))
        True
    """
    model = _opened(release).predictor()
    return model.similar(item, n, only=only, exclude=exclude, where=where)


def predict(
    release: AnyRelease,
    own: Own,
    items: Iterable[str | int] | None = None,
    *,
    predictor: str | None = None,
    **options: Any,
) -> npt.NDArray[np.float64]:
    """The ratings to expect of a person, clipped to the scale; nothing leaves this machine.

    Args:
        release: The release, or its file.
        own: The person's own ratings, as for `recommend`.
        items: Ids, titles or catalogue indices; every item of the catalogue if absent.
        predictor: Which one; the release's own if absent.
        options: The predictor's own.

    Raises:
        InputError: The file is not a release, it predicts no ratings, or an argument cannot be
            used.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
        >>> release = discreet.fit(
        ...     ratings, epsilon=8.0, randomness=discreet.SeededRandomness(1)
        ... )
        >>> discreet.predict(release, {"1": 5}, ["2", "3"]).shape
        (2,)
    """
    return _opened(release).predictor(predictor, **options).predict(own, items)


def _opened(release: AnyRelease) -> Release:
    return release if isinstance(release, Release) else load(release)
