"""Releases of method `lists`: they order items and predict no ratings."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from discreet.domain import InputError
from discreet.predict._predictor import Predictor


class ListsPredictor(Predictor):
    """Lists by the release's lists section alone: what the person has counts, not how they rate it.

    Ratings cannot be predicted: asking for them is an `InputError`.
    """

    name: ClassVar[str] = "lists"

    def _pairs(self, *_: Any, **__: Any) -> NoReturn:
        raise InputError("a release of method 'lists' predicts no ratings; ask it to recommend")

    _scores = _contributions = _pairs
