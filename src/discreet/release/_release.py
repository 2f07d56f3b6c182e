"""The release: what a method made public, with the guarantee it was made under."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from discreet.domain import (
    Catalog,
    InputError,
    OwnRatings,
    Recommendations,
    Scale,
    SimilarItems,
)
from discreet.privacy import Guarantee
from discreet.release._layouts import SMALL, check_contents, check_layout
from discreet.release._learnt import LearntSummary, summarise

Own = Mapping[str, float] | Iterable[str] | OwnRatings
"""A person's own ratings by title or id; titles alone for a release of interactions."""
Names = Iterable[str | int]
"""Ids, titles or catalogue indices."""
Where = Mapping[str, str | Iterable[str]]
"""Values that items must have in columns of the catalogue."""

# Which predictors read which method's releases, by name, each as a function that loads it. Filled
# by `discreet.predict`, so that a release can hand out predictors and this room knows none.
_PREDICTORS: dict[str, dict[str, Callable[[], Callable[..., Any]]]] = {}


def register_predictors(
    method: str, predictors: Mapping[str, Callable[[], Callable[..., Any]]]
) -> None:
    """Add predictors that read the releases of a method.

    Args:
        method: The method's name.
        predictors: For each name a function that loads the predictor: what makes it from a release
            and options. The first one registered for the method is its default.
    """
    _PREDICTORS.setdefault(method, {}).update(predictors)


class Recommender(Protocol):
    """What a release's predictor can do; `discreet.predict.Predictor` says more of it."""

    name: ClassVar[str]
    predicts_ratings: bool
    """Whether there are expected ratings: not if records only say that they are there."""

    @property
    def release(self) -> Release:
        """What it predicts from."""

    @property
    def catalog(self) -> Catalog:
        """The items that can be recommended."""

    def read(self, own: Own) -> OwnRatings:
        """Own ratings as catalogue indices and values, with the unknown names beside them."""

    def predict(
        self, own: Own, items: Iterable[str | int] | None = None
    ) -> npt.NDArray[np.float64]:
        """Expected ratings of these items, or of all, clipped to the scale."""

    def recommend(
        self,
        own: Own,
        n: int = 10,
        *,
        only: Names | None = None,
        exclude: Names = (),
        where: Where | None = None,
        explain: bool = False,
    ) -> Recommendations:
        """The items that suit the person best among those not rated yet, the best first."""

    def similar(
        self,
        item: str | int,
        n: int = 10,
        *,
        only: Names | None = None,
        exclude: Names = (),
        where: Where | None = None,
    ) -> SimilarItems:
        """The items most like this one, for anybody; the most alike first."""

    def explain(self, own: Own, item: str | int) -> list[tuple[str, float]]:
        """By how much each own rating moves this item's score, the largest first."""

    def predict_pairs(
        self, people: Any, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.float64]:
        """Expected ratings of person `rows[p]` of `discreet.predict.People` for `items[p]`."""

    def scores(self, people: Any, first: int, last: int) -> npt.NDArray[np.float32]:
        """What lists are ordered by, for the people from `first` to before `last`."""


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Everything that is made public, and its guarantee.

    Made by `fit`, by a protocol's server or by `load`; checked on construction (the content of
    arrays above 16 MiB only when it is saved or loaded with `verify`).

    Attributes:
        method: What made it, which decides what the arrays mean ("covariance").
        scale: The scale of the ratings.
        catalog: The items; arrays refer to them by index.
        guarantee: What it guarantees, to whom, under which assumptions.
        parameters: Plain numbers and texts (anything JSON can hold).
        arrays: The published arrays, read-only.
    """

    method: str
    scale: Scale
    catalog: Catalog
    guarantee: Guarantee
    parameters: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]
    _digest: str | None = field(default=None, init=False)
    """That of the file it was loaded from."""

    def __post_init__(self) -> None:
        parameters = MappingProxyType(_plain(self.parameters))
        arrays = MappingProxyType({name: _frozen(a) for name, a in self.arrays.items()})
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "arrays", arrays)
        check_layout(self.method, len(self.catalog), parameters, arrays)
        check_contents(self.method, len(self.catalog), arrays, at_most=SMALL)

    def __repr__(self) -> str:
        promise = str(self.guarantee).partition("\n")[0]
        return f"Release({self.method}, {len(self.catalog):,} items, {promise})"

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def learnt(self) -> LearntSummary:
        """What it knows of items and tastes, in numbers and in words, from its arrays alone."""
        return summarise(
            self.method,
            len(self.catalog),
            not self.scale.presence and "global_mean" in self.parameters,
            self.parameters,
            self.arrays,
            self.guarantee,
        )

    def describe(self) -> dict[str, Any]:
        """Everything about it but its numbers, as plain data: what `discreet inspect` shows.

        Example:
            >>> import discreet
            >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
            >>> about = discreet.fit(ratings, epsilon=1.0, ledger="unbooked").describe()
            >>> about["method"], about["protect"], round(about["epsilon"], 6), about["scale"]
            ('refined', 'user', 1.0, '1..5')
        """
        guarantee = self.guarantee
        return {
            "method": self.method,
            "private": guarantee.is_private,
            "protect": str(guarantee.unit),
            "epsilon": guarantee.epsilon if guarantee.is_private else None,
            "delta": guarantee.delta,
            "items": len(self.catalog),
            "catalog": str(self.catalog.origin),
            "columns": list(self.catalog.columns),
            "scale": self.scale.spelling,
            "digest": self.digest(),
            "learnt": self.learnt.to_dict(),
            "guarantee": guarantee.to_dict(),
            "parameters": dict(self.parameters),
            "arrays": {
                name: {"type": array.dtype.name, "shape": list(array.shape)}
                for name, array in self.arrays.items()
            },
        }

    def digest(self) -> str:
        """The SHA-256 that identifies the release: that of its file, or of the one `save` writes.

        A ledger records it with the charge that paid for the release.
        """
        from discreet.release._codec import digest_of

        return digest_of(self) if self._digest is None else self._digest

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write one file that `load` reads, completely or not at all.

        Args:
            path: The file.
            overwrite: Whether to replace a file that is there. A release was paid for, and drawn
                noise cannot be drawn again, so nothing is replaced unless you say so.

        Raises:
            InputError: There is a file, it cannot be written, or an array holds a value that is
                not finite.
        """
        from discreet.release._codec import save

        save(self, path, overwrite=overwrite)

    def predictor(self, name: str | None = None, **options: Any) -> Recommender:
        """A predictor that works from this release and a person's own ratings.

        Args:
            name: Which one; the method's default if absent.
            options: The predictor's own options.

        Raises:
            InputError: There is no such predictor or option, or `discreet.predict` was never
                imported.

        Example:
            >>> import discreet
            >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
            >>> release = discreet.fit(
            ...     ratings, epsilon=8.0, randomness=discreet.SeededRandomness(1)
            ... )
            >>> model = release.predictor()
            >>> model.name, model.predicts_ratings
            ('posterior', True)
            >>> len(model.recommend({"1": 5}, 2, exclude=["2"]))
            2
        """
        known = _PREDICTORS.get(self.method)
        if not known:
            raise InputError(
                f"no predictor reads releases of method '{self.method}'; "
                "import discreet.predict first"
            )
        if name is not None and name not in known:
            names = ", ".join(known)
            raise InputError(
                f"'{name}' is not a predictor for method '{self.method}'; it has {names}"
            )
        make = known[name or next(iter(known))]()
        try:
            inspect.signature(make).bind(self, **options)
        except TypeError as error:
            raise InputError(
                f"predictor '{name or 'default'}' does not take this: {error}"
            ) from None
        made: Recommender = make(self, **options)
        return made


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, made of what JSON can hold, that no caller has a reference to."""
    try:
        copied = json.loads(json.dumps(dict(parameters), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"a release's parameters are finite numbers and texts: {error}") from None
    assert isinstance(copied, dict)
    return copied


def _frozen(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
