"""Sets of items chosen by private scores: charge, then draw. See PROOF.md."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.measure._request import GivenLedger, charge, configuration_digest
from discreet.privacy import SEEDED, Guarantee, PureEvent, Randomness, Tickets, Unit, fit_unit
from discreet.privacy.mechanisms import (
    GumbelTopK,
    KSubset,
    Moves,
    grid_sensitivity,
    to_grid,
)

__all__ = ["PROTECTION", "AttackKind", "Cover", "PrivateSets", "Scoring", "private_sets"]


class AttackKind(enum.StrEnum):
    """Where attackers put entries of their own in, to learn from what comes out about others.

    A learner completes a sparse matrix D of ratings to a matrix C with a score for everybody and
    everything. What attackers put in may be anything and is no secret: epsilon bounds what they
    learn about one unit of somebody else. It does not keep them from spoiling recommendations.
    """

    IMMEDIATE = "immediate"
    """Before learning, in D. The secret is a rating, or a person, in the data that was learnt."""
    DYNAMIC = "dynamic"
    """After learning, in C, until the next learning. The secret is one entry of C."""
    COMBINED = "combined"
    """Some in D and others in C. The secret is one of each, together."""


class Cover(NamedTuple):
    """Whether a bound holds against a kind of attack, and which, in words."""

    is_bounded: bool
    words: str


def _release_made_once(whom: str) -> dict[AttackKind, Cover]:
    """A release of noisy statistics: C exists nowhere but at home, row by row."""
    return {
        AttackKind.IMMEDIATE: Cover(True, f"the release's epsilon, {whom}; predictions are free"),
        AttackKind.DYNAMIC: Cover(
            True, "nothing is spent while scores are made at home and what is entered later stays"
        ),
        AttackKind.COMBINED: Cover(True, "as immediate, while scores are made at home"),
    }


_NOTHING = Cover(False, "nothing: neighbours have different supports, so no epsilon is finite")
_BY_RATING = "for one rating; for a person as many times as they have ratings, without a bound"

PROTECTION: Mapping[str, Mapping[AttackKind, Cover]] = MappingProxyType(
    {
        "sets, moves one": {
            AttackKind.IMMEDIATE: Cover(
                False, "nothing: what is learnt moves every score, and one was promised"
            ),
            AttackKind.DYNAMIC: Cover(
                True, "a list's epsilon for one entry, however many people get a list, once each"
            ),
            AttackKind.COMBINED: Cover(False, "nothing, for want of the immediate part"),
        },
        "sets, moves all": {
            AttackKind.IMMEDIATE: Cover(
                True, "a list's epsilon for whoever sees one list; times the lists for all of them"
            ),
            AttackKind.DYNAMIC: Cover(
                True, "a list's epsilon, if an entry moves by at most the sensitivity as well"
            ),
            AttackKind.COMBINED: Cover(True, "the sum of immediate and dynamic"),
        },
        "pair statistics, per rating": _release_made_once(_BY_RATING),
        "pair statistics, per user": _release_made_once("for a person's whole history"),
        "covariance or refined, per rating": _release_made_once(_BY_RATING),
        "covariance or refined, per user": _release_made_once("for a person's whole history"),
        "local reports": {
            AttackKind.IMMEDIATE: Cover(
                True,
                "the reports' epsilon for one rating, even from the server; for a person times "
                "the catalogue",
            ),
            AttackKind.DYNAMIC: Cover(
                True, "nothing while no new report is sent; a new epoch costs its epsilon again"
            ),
            AttackKind.COMBINED: Cover(True, "as immediate, for all epochs together"),
        },
        "birth-death chain of the paper": dict.fromkeys(AttackKind, _NOTHING),
    }
)
"""For each kind of release, what bounds the three kinds of attack."""


Scoring = Callable[[int, int], npt.ArrayLike]
"""Scores of the people from `first` to before `last`, a row each: made when they are wanted."""

_MECHANISMS: dict[str, type[KSubset | GumbelTopK]] = {"k-subset": KSubset, "gumbel": GumbelTopK}
_CELLS = 1 << 22
"""Scores that are held at a time: 32 MiB."""
# Bits of the scores' grid below their sensitivity: a step is about a millionth of it.
_FINENESS = 20
# In steps; scores beyond are cut: up to there every whole number is a float.
_LARGEST_SCORE = 2.0**52
_LABELS = {Moves.ONE: "sets of items, one score moves", Moves.ALL: "sets of items"}


@dataclass(frozen=True, eq=False)
class PrivateSets:
    """Items chosen for people, and what that cost.

    Attributes:
        items: Catalogue indices: k for one person, a row of k for each of several. A k-subset is
            in rising order, which says nothing; a Gumbel list has the first choice first.
        epsilon: What one list costs.
        lists: How many lists were drawn.
        moves: How many scores the guarantee lets one unit move.
        guarantee: Of all lists together.
    """

    items: npt.NDArray[np.int64]
    epsilon: float
    lists: int
    moves: Moves
    guarantee: Guarantee

    def against(self, kind: AttackKind | str) -> float | None:
        """The epsilon of all lists together against a kind of attack; None if nothing bounds it.

        For one rating (or person, as `guarantee.unit` says) in the data, and one entry of the
        completed matrix. Attackers who see a single list face `epsilon` instead of all lists.
        """
        kind = AttackKind(kind)
        if not self.guarantee.is_private:
            return None
        if kind is AttackKind.DYNAMIC:
            return self.epsilon
        if self.moves is Moves.ONE:
            return None
        return self.epsilon * (self.lists + (1 if kind is AttackKind.COMBINED else 0))


def private_sets(
    scores: npt.ArrayLike | Scoring,
    k: int,
    *,
    protect: Unit | Literal["rating", "user"],
    epsilon: float,
    sensitivity: float,
    moves: Moves | Literal["one", "all"],
    mechanism: Literal["k-subset", "gumbel"] = "k-subset",
    lists: int | None = None,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
) -> PrivateSets:
    """Choose k items for each person by private scores, any model's.

    For scores that others' ratings went into without noise. Scores made at home from a release and
    the person's own ratings need none of this. The candidates are all items that have a score:
    give the whole public catalogue, what people have rated included, ask for some more than are
    wanted, and drop own items at home (`discreet.predict.drop_own`). Who gets a list is public.

    Args:
        scores: A number for each item; a row of them for each person; or a function that makes the
            rows of the people from `first` to before `last`, so that they never are in memory at
            once.
        k: How many items a list has.
        protect: Whose record moves scores: `rating` or `user`.
        epsilon: Of one list.
        sensitivity: How far one record moves a score, in the scores' own measure; it must hold for
            everybody's scores, those of the record's own person too. Predictions that are cut to a
            scale move by no more than its width.
        moves: `one` if a record moves one score of one person and no other, as an entry put into
            the completed matrix after learning does. `all` if it moves any number of them, as
            anything does that scores were fitted on. It decides the noise, and there is no default.
        mechanism: `k-subset`, the exponential mechanism over all sets; or `gumbel`, item by item,
            which also tells an order.
        lists: How many people a function has scores for.
        ledger: Charged before anything is drawn; `"unbooked"` stands for none, as for `fit`.
        randomness: For experiments: a seeded source makes sets that say "not private".

    Raises:
        BudgetExceeded: The ledger has no room; nothing was drawn.
        InputError: An argument cannot be used. What a function returns is seen after the charge
            only, and a refusal of it is for the curator's eyes: it may tell of the scores.
    """
    unit, moves = _contract(protect, moves)
    step = _step(sensitivity)
    if mechanism not in _MECHANISMS:
        raise InputError(f"'{mechanism}' is not a mechanism; choose from {', '.join(_MECHANISMS)}")
    chooser = _MECHANISMS[mechanism](k, epsilon, grid_sensitivity(sensitivity, step), moves)
    scoring, rows, is_single = _scoring(scores, lists, k)
    # A record moves one row's scores, or everybody's: PROOF.md.
    total = chooser.event(unit, _LABELS[moves], 1 if moves is Moves.ONE else rows)
    asked = configuration_digest(total.label, {"chooser": chooser, "unit": unit, "lists": rows})
    receipt = charge([total], f"{rows:,} {total.label}", ledger, randomness, asked)
    tickets = receipt._open_tickets(total, rows if moves is Moves.ONE else 1)
    each = dataclasses.replace(total, count=1)
    chosen = _draw(chooser, scoring, rows, step, each, tickets)
    reasons = () if receipt.is_private else (SEEDED,)
    promise = Guarantee(unit, (total,), 0.0, _assumptions(moves, sensitivity), reasons)
    return PrivateSets(chosen[0] if is_single else chosen, epsilon, rows, moves, promise)


def _contract(protect: Unit | str, moves: Moves | str) -> tuple[Unit, Moves]:
    unit = fit_unit(protect)
    if moves not in list(Moves):
        raise InputError(f"moves is {' or '.join(Moves)}, not '{moves}'")
    if unit is Unit.USER and moves == Moves.ONE:
        raise InputError("a whole user moves more than one score: say moves='all'")
    return unit, Moves(moves)


def _step(sensitivity: float) -> float:
    """The grid of scores: a power of two, about a millionth of the sensitivity."""
    if not 1e-100 <= sensitivity <= 1e100:
        raise InputError(f"sensitivity must be a positive number, not {sensitivity:g}")
    return math.ldexp(0.5, math.frexp(sensitivity)[1] - _FINENESS)


def _scoring(
    scores: npt.ArrayLike | Scoring, lists: int | None, k: int
) -> tuple[Scoring, int, bool]:
    """Scores block by block, how many people there are, and whether it is a lone one."""
    if callable(scores):
        if lists is None or lists < 1:
            raise InputError("a function that makes scores needs lists, how many people there are")
        return scores, lists, False
    table = np.asarray(scores)
    if table.ndim not in (1, 2) or not table.size or table.dtype.kind not in "fiu":
        raise InputError("scores are a row of numbers, or one for each person, and not empty")
    rows = np.atleast_2d(table)
    if lists not in (None, len(rows)):
        raise InputError(f"there are scores for {len(rows):,} people, and lists says {lists:,}")
    if k > rows.shape[1]:
        raise InputError(f"{k} of {rows.shape[1]:,} items cannot be chosen")
    if not np.all(np.isfinite(rows)):
        raise InputError(_UNUSABLE)
    return lambda first, last: rows[first:last], len(rows), table.ndim == 1


_UNUSABLE = "a score is not a finite number"


def _draw(
    chooser: KSubset | GumbelTopK,
    scoring: Scoring,
    lists: int,
    step: float,
    each: PureEvent,
    tickets: Tickets,
) -> npt.NDArray[np.int64]:
    chosen = np.empty((lists, chooser.k), np.int64)
    first, size, items = 0, 1, None
    while first < lists:
        last = min(first + size, lists)
        part = np.asarray(scoring(first, last), np.float64)
        items = part.shape[-1] if items is None else items
        if part.shape != (last - first, items):
            raise InputError("scores have one row for each person, and every row the same items")
        if not np.all(np.isfinite(part)):
            raise InputError(_UNUSABLE)
        # Cutting moves no two scores further apart; a refusal would tell of them.
        part = np.clip(part, -_LARGEST_SCORE * step, _LARGEST_SCORE * step)
        event = dataclasses.replace(each, count=last - first)
        chosen[first:last] = chooser.release(to_grid(part, step), event, tickets)
        first, size = last, max(1, _CELLS // items)
    return chosen


def _assumptions(moves: Moves, sensitivity: float) -> tuple[str, ...]:
    reach = f"by at most {sensitivity:g}"
    known = ("one account is one person", "it is public who gets a list")
    if moves is Moves.ALL:
        return (*known, f"no score, of anybody for anything, moves other than {reach}")
    return (
        *known,
        f"a rating moves one score of one person and no other, {reach}",
        "what scores were learnt from is public",
    )
