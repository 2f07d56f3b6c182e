"""Figure 2 of McSherry and Mironov: what privacy costs as the data grow."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.domain import InputError
from discreet.evaluate.reproduce import _curves
from discreet.evaluate.reproduce._found import Claim, Found
from discreet.evaluate.reproduce._study import NETFLIX, Study, of_people
from discreet.evaluate.reproduce._theta import NO_NOISE, OURS, paper_release
from discreet.evaluate.reproduce._trial import Trial
from discreet.methods import fit
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings, split_netflix

THETA = 0.15
LARGER = 10.0
"""Where the noise on small data is about what 0.15 is on Netflix."""
_DAY = 86_400
_FEWEST = 100


def loss_over_time(study: Study) -> Found:
    """Loss of accuracy at fixed theta for the data as they were at several dates.

    Raises:
        InputError: The ratings have no times.
    """
    times = study.ratings.times
    if times is None:
        raise InputError(f"mm-fig2 goes by time, and the ratings of {study.name} have none")
    rows: list[dict[str, Any]] = []
    for cut in study.each("dates", _cuts(study.ratings, study.effort.cuts)):
        known = _until(study.ratings, cut)
        trial = Trial(split_netflix(known, seed=1))
        if len(known) < _FEWEST or not len(trial.wanted):
            continue
        day = (cut - int(times.min())) // _DAY
        date = datetime.datetime.fromtimestamp(cut, datetime.UTC).date().isoformat()
        told = {"days": day, "date": date, "records": len(known), "users": known.user_count}
        for series, (private, plain) in _losses(trial, study.effort.draws).items():
            loss = 100 * (private - plain)
            figures = {"rmse": private, "rmse_without_noise": plain, "loss_points": loss}
            rows.append({**told, "series": series, **figures})
    if not rows:
        raise InputError("mm-fig2 needs more ratings: no date has enough of them to test with")
    notes = _notes(study)
    return Found(rows, _claims(rows), notes, lambda figure: _draw(figure, study, rows),
                 size=(8.0, 4.6))  # fmt: skip


def _cuts(ratings: Ratings, count: int) -> list[int]:
    """Dates by which the data had grown to 1/count, 2/count, ... of what they are."""
    assert ratings.times is not None
    shares = np.arange(1, count + 1) / count
    return sorted({int(cut) for cut in np.quantile(ratings.times, shares)})


def _until(ratings: Ratings, cut: int) -> Ratings:
    """The data as they were, without those who came later."""
    assert ratings.times is not None
    known = ratings.where(ratings.times <= cut)
    return of_people(known, np.diff(known.starts) > 0)


def _losses(trial: Trial, draws: int) -> dict[str, tuple[float, float]]:
    """RMSE with and without noise."""
    train = trial.split.train

    def paper(theta: float, draw: int) -> float:
        return trial.error(paper_release(train, "rating", theta, draw).predictor("knn"))

    def ours(draw: int) -> float:
        source = SeededRandomness(f"mm growth {draw}")
        return trial.error(fit(train, protect="rating", theta=THETA, randomness=source).predictor())

    plain = paper(NO_NOISE, 0)
    free = trial.error(fit(train, protect="rating", epsilon=float("inf")).predictor())
    some = range(draws)
    return {
        f"kNN, cleaned, theta {THETA:g}": (statistics.fmean(paper(THETA, d) for d in some), plain),
        f"kNN, cleaned, theta {LARGER:g}": (
            statistics.fmean(paper(LARGER, d) for d in some),
            plain,
        ),
        f"{OURS}, theta {THETA:g}": (statistics.fmean(ours(d) for d in some), free),
    }


def _claims(rows: Sequence[Any]) -> list[Claim]:
    claims = [
        Claim("records, first and last date", "up to 100 million, 7/2000 to 2006",
              f"{rows[0]['records']:,} and {rows[-1]['records']:,}, {rows[0]['date']} to "
              f"{rows[-1]['date']}"),
    ]  # fmt: skip
    for series in dict.fromkeys(row["series"] for row in rows):
        some = _curves.where(rows, series=series)
        said = "falls as the data grow (theta = 0.15)" if series.startswith("kNN") else "-"
        losses = ", ".join(f"{row['loss_points']:.1f}" for row in some)
        claims.append(Claim(f"{series}: loss in hundredths of RMSE, date by date", said, losses))
    return claims


def _notes(study: Study) -> list[str]:
    notes = [
        "The probe is the paper's: of everybody's nine latest ratings each with a chance of a "
        "third. Without noise means theta 1,000, the same code and the same parameters.",
        "The paper prints no numbers for this figure; what can be compared is that the loss falls "
        "as records come in, with noise that stays as it is.",
    ]
    if not study.is_netflix:
        notes.insert(
            0,
            f"{study.name} has at most {len(study.ratings):,} records where the paper's last point "
            f"has {NETFLIX[0]:,}: at theta {THETA:g} the paper's curve starts far to the left of "
            f"anything it shows. Theta {LARGER:g} is beside it, where the noise is small enough "
            "for these data.",
        )
    if study.made_up:
        notes.append(
            "Made-up ratings have dates of the Netflix Prize's kind, and items that do not change."
        )
    return notes


def _draw(figure: Any, study: Study, rows: Sequence[Any]) -> None:
    axes = figure.subplots()
    names = list(dict.fromkeys(row["series"] for row in rows))
    for place, series in enumerate(names):
        some = _curves.where(rows, series=series)
        _curves.curve(axes, some, "days", "loss_points", series, place)
    axes.set_yscale("symlog", linthresh=1)
    _curves.finish(axes, f"figure 2 on {study.name}", "days since the first rating",
                   "loss, hundredths of RMSE")  # fmt: skip
    second = axes.twinx()
    some = _curves.where(rows, series=names[0])
    _curves.curve(second, some, "days", "records", "", 6, linestyle=":", marker="")
    second.set_ylabel("records (dotted)")
    second.set_ylim(bottom=0)
    second.spines[["top"]].set_visible(False)
