"""The server of local reports: reports come in, a release goes out. It never sees a true rating."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, CatalogOrigin, InputError, Noisy, Scale
from discreet.estimate import (
    LARGEST_EFFECT,
    RATING_VARIANCE,
    USER_VARIANCE,
    clean_auto,
    effects_by_moments,
    mean_guess,
    shrink_counts,
    shrink_ratio,
    stretch,
)
from discreet.privacy import Guarantee, Unit
from discreet.protocols import servers
from discreet.protocols.local_reports.messages import PROTOCOL, Collection, Mechanism, Report
from discreet.release import Release

_Floats = npt.NDArray[np.float64]

_CELLS = 1 << 22
"""Answers, given or not, that are worked on at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """Several people's answers.

    Attributes:
        shown: A row a person, a column an item: whether there is an answer.
        values: The centred grid values of all answers, row after row.
    """

    shown: npt.NDArray[np.bool_]
    values: npt.NDArray[np.int32]

    def table(self) -> npt.NDArray[np.int32]:
        """A row a person, a column an item: the answer, or 0."""
        whole = np.zeros(self.shown.shape, np.int32)
        whole[self.shown] = self.values
        return whole


@dataclass(frozen=True, eq=False, repr=False)
class ReportTotals:
    """What all reports add up to, item by item, in integers.

    Attributes:
        shown: How many have an answer for the item.
        sums: Of the answers.
        shown_by: How many answers each report has; the only things here that grow with reports.
        sums_by: The sum of each report's answers.
    """

    shown: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    shown_by: npt.NDArray[np.int32]
    sums_by: npt.NDArray[np.int64]

    @property
    def reports(self) -> int:
        """How many there are."""
        return len(self.shown_by)


class Spool:
    """All reports on a collection, in a file without a name that ends with this object."""

    def __init__(self, collection: Collection, folder: Path | None = None) -> None:
        self._collection = collection
        self._size = len(collection.catalog)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed with the spool)
        self._blocks = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def fill(self, uploads: Iterable[Report]) -> ReportTotals:
        """Take all reports in and add them up."""
        shown, sums = (np.zeros(self._size, np.int64) for _ in range(2))
        shown_by, sums_by = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        coming = iter(uploads)
        # A block is a table of people x items, as bits and as bytes: bounded by cells, not by
        # people.
        rows = max(1, _CELLS // self._size)
        while batch := list(islice(coming, rows)):
            block = self._unpack(*self._store(batch))
            rows_of, places = np.divmod(np.flatnonzero(block.shown), self._size)
            shown_by.append(block.shown.sum(axis=1, dtype=np.int32))
            shown += np.bincount(places, minlength=self._size)
            # In doubles, of whole numbers far below 2^53: exact.
            sums += np.bincount(places, block.values, self._size).astype(np.int64)
            sums_by.append(np.bincount(rows_of, block.values, len(batch)).astype(np.int64))
        return ReportTotals(shown, sums, np.concatenate(shown_by), np.concatenate(sums_by))

    def blocks(self) -> Iterator[Block]:
        """All of them again."""
        self._file.seek(0)
        for _ in range(self._blocks):
            bits, values = (np.load(self._file, allow_pickle=False) for _ in range(2))
            yield self._unpack(bits, values)

    def _store(self, batch: list[Report]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.integer]]:
        expected = (self._collection.digest, self._collection.epoch)
        if any((report.collection, report.epoch) != expected for report in batch):
            raise InputError("a report answers another collection or period than this one")
        joined = b"".join(report.reported for report in batch)
        bits = np.frombuffer(joined, np.uint8).reshape(len(batch), -1)
        values = np.concatenate([report.values for report in batch])
        np.save(self._file, bits, allow_pickle=False)
        np.save(self._file, values, allow_pickle=False)
        self._blocks += 1
        return bits, values

    def _unpack(self, bits: npt.NDArray[np.uint8], values: npt.NDArray[np.integer]) -> Block:
        marks = np.unpackbits(bits, axis=1, count=self._size, bitorder="little")
        return Block(marks.view(np.bool_), self._collection.centred(values))


@dataclass(frozen=True)
class AnswerLaw:
    """What is known of answers beforehand.

    Attributes:
        slope: Ratings per grid step, once debiased.
        fake: The chance that an unrated item shows.
        gap: How much more likely a rated one does.
        fake_square: The mean of z^2 s for an unrated item.
        kept: Of a rated item, the mean of z^2 s is fake_square + kept z_true^2 + added.
        added: See `kept`.
    """

    slope: float
    fake: float
    gap: float
    fake_square: float
    kept: float
    added: float

    @classmethod
    def of(cls, collection: Collection) -> AnswerLaw:
        """The law of a collection's answers."""
        if collection.mechanism is Mechanism.MODIFIED_LAPLACE:
            keep = collection.laplace.keep
            # A rated item shows with `keep` and then says z + noise; an unrated one with 1 - keep,
            # and says noise alone. So E[z s] = keep z_true, which `slope` undoes.
            noise = geometric_variance(collection.laplace.scale)
            fake = 1 - keep
            return cls(
                slope=collection.unit / keep, fake=fake, gap=2 * keep - 1,
                fake_square=fake * noise, kept=keep, added=(2 * keep - 1) * noise,
            )  # fmt: skip
        keep, reach = collection.response.keep, collection.reach
        # The truth with `keep`, every other symbol with `other`. Answers lie evenly around 0, so
        # all but the true one add up to -z_true: E[z s] = (keep - other) z_true.
        other = keep * math.exp(-collection.epsilon)
        gap = keep - other
        answers = np.linspace(-reach, reach, collection.answers)
        # Rounded to an end, z^2 is reach^2 whatever the rating is.
        rounded = collection.mechanism is Mechanism.ROUNDED_RESPONSE
        return cls(
            slope=collection.unit / gap, fake=collection.answers * other, gap=gap,
            fake_square=other * float(answers @ answers),
            kept=0.0 if rounded else gap, added=gap * reach**2 if rounded else 0.0,
        )  # fmt: skip

    @property
    def usual_square(self) -> float:
        """The mean of x^2 of an answer about an unrated item, x the debiased rating less mid."""
        return self.slope**2 * self.fake_square / self.fake

    def presence_variance(self, shares: _Floats) -> _Floats:
        """The variance of e for items that these shares of people rated."""
        shown = self.fake + self.gap
        # A coin for each person, of one chance for those who rated it and of another for the rest;
        # e = (s - fake)/gap divides by the gap.
        both = (1 - shares) * self.fake * (1 - self.fake) + shares * shown * (1 - shown)
        return np.asarray(both / self.gap**2)

    def moment(self, levels: _Floats, shares: _Floats, spread: float, unit: float) -> _Floats:
        """The mean of y^2 over people.

        Args:
            levels: m: what people who rated the item rate above mid, on average.
            shares: How many of all people that is.
            spread: The variance of their ratings.
            unit: A grid step on the scale.
        """
        # y = slope z s - level e, squared and averaged. Unrated: z is noise around 0, independent
        # of s.
        missing = self.slope**2 * self.fake_square + levels**2 * (
            self.fake * (1 - self.fake) / self.gap**2
        )
        square = (levels**2 + spread) / unit**2
        shown = self.fake + self.gap
        squares = self.slope**2 * (self.fake_square + self.kept * square + self.added)
        # z s is levels/slope on average and is 0 unless s is 1, so s - fake is 1 - fake there.
        crossed = 2 * levels**2 * (1 - self.fake) / self.gap
        marks = levels**2 * (shown * (1 - 2 * self.fake) + self.fake**2) / self.gap**2
        present = squares - crossed + marks
        return np.asarray((1 - shares) * missing + shares * present)


def geometric_variance(scale: float) -> float:
    """Of two-sided geometric noise: 2q/(1 - q)^2 with q = e^(-1/scale)."""
    ratio = math.exp(-1 / scale)
    return 2 * ratio / math.expm1(-1 / scale) ** 2


# The variance of a rating around its item's level, in squared units of a scale of width 4; other
# scales stretch it. A little above that of five-star data, since effects are known less well here.
RATING_SPREAD = 1.2


@dataclass(frozen=True, eq=False)
class ReportedEffects:
    """What reports say of the items one by one.

    Attributes:
        people: How many reports there are.
        mean: The mean rating, above mid.
        mean_variance: How uncertain it is.
        effects: What each item's level lies above the mean.
        variances: How uncertain each still is.
        counts: How many people rated each item, unbiased and unclipped.
        known: The same, drawn to their mean as far as noise asks for; above 0.
        count_spread: The standard deviation of the counts' noise, typically.
        moments: The mean of y^2 over people, by the known law.
    """

    people: int
    mean: float
    mean_variance: float
    effects: _Floats
    variances: _Floats
    counts: _Floats
    known: _Floats
    count_spread: float
    moments: _Floats

    @property
    def levels(self) -> _Floats:
        """Each item's level above mid."""
        return self.mean + self.effects


def reported_effects(
    collection: Collection, law: AnswerLaw, totals: ReportTotals
) -> ReportedEffects:
    """Debias the totals; then the posterior of each effect under a prior learnt from all."""
    people, width = totals.reports, stretch(collection.scale)
    # Of n people who rated it, shown is fake people + gap n on average.
    counts = (totals.shown.astype(np.float64) - law.fake * people) / law.gap
    sums = law.slope * totals.sums.astype(np.float64)
    # Unbiased counts may be negative; what is divided by is drawn to the mean first.
    known, spread = _known_counts(law, counts, people)
    shares = np.minimum(known / people, 1.0)
    mean, doubt = _mean(collection, law, totals, float(counts.sum()), shares)

    def moments(levels: _Floats) -> _Floats:
        return law.moment(levels, shares, RATING_SPREAD * width, collection.unit)

    flat = np.full(len(counts), mean)
    noise = people * moments(flat)
    effects, left = effects_by_moments(
        sums - mean * counts, known, noise, counts**2 - spread**2, LARGEST_EFFECT * width
    )
    half = collection.scale.range / 2
    # No level lies beyond the scale.
    effects = np.clip(effects, -half - mean, half - mean)
    final_moments = moments(mean + effects)
    return ReportedEffects(people, mean, doubt, effects, left, counts, known, spread, final_moments)


def _known_counts(law: AnswerLaw, counts: _Floats, people: int) -> tuple[_Floats, float]:
    """Counts that can be divided by, and the usual noise of one.

    After `shrink_counts` none is below a floor that grows with the noise.
    """
    rough = np.clip(counts / people, 0.0, 1.0)
    spread = math.sqrt(people * float(law.presence_variance(rough).mean()))
    mean = max(float(counts.mean()), 1e-3)
    drawn, _ = shrink_counts(counts, spread)
    # A fiftieth of the mean and a tenth of the noise: chosen by hand, so that quotients stay tame.
    return np.clip(drawn, min(0.02 * mean + 0.1 * spread + 0.1, mean), people), spread


# How far a report may pull the mean, in standard deviations of what an honest one adds up to: at 3,
# hardly an honest report is cut, and the estimate loses 1 % of its precision.
_PULL = 3.0
# Halvings of an interval of at most the scale: enough for doubles.
_HALVINGS = 50


def _mean(
    collection: Collection, law: AnswerLaw, totals: ReportTotals, number: float, shares: _Floats
) -> tuple[float, float]:
    """The mean rating above mid, drawn to a guess as far as noise asks for; and its variance."""
    scale, people = collection.scale, totals.reports
    guess, doubt = mean_guess(scale)
    moments = law.moment(
        np.full(len(shares), guess), shares, RATING_SPREAD * stretch(scale), collection.unit
    )
    one = float(moments.sum())
    spread = math.sqrt(people * one)
    # Where noise drowns the number of ratings, so few that the quotient is within the scale.
    number = max(number, spread / scale.range, 1.0)
    # A report adds up to noise, and to its sender's own level times their ratings; levels lie half
    # a star apart, and many have rated several times as much as the mean.
    pull = _PULL * math.sqrt(one + stretch(scale) * (number / people) ** 2)
    mean = _pulled_mean(law, totals, len(shares), guess, 2 * doubt, pull)
    return shrink_ratio(Noisy(mean * number, spread), Noisy(number, 0.0), guess, doubt, within=2.0)


def _pulled_mean(
    law: AnswerLaw, totals: ReportTotals, items: int, guess: float, reach: float, pull: float
) -> float:
    """The mean m within `reach` of a guess at which all reports' pulls add up to nothing.

    A report whose debiased ratings add up to x and number e pulls by x - m e, and never by more
    than `pull`. See PROOF.md.
    """
    sums = law.slope * totals.sums_by.astype(np.float64)
    counts = (totals.shown_by - law.fake * items) / law.gap

    def pulls(mean: float) -> float:
        return float(np.clip(sums - mean * counts, -pull, pull).sum())

    low, high = guess - reach, guess + reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if pulls(middle) > 0 else (low, middle)
    return (low + high) / 2


# How uncertain `USER_VARIANCE` is, in the same units. Chosen by hand.
_USER_DOUBT = 0.1
_STRENGTH = 0.05
"""What tastes add to the covariance of two ratings, roughly, on a scale of width 4."""
# Items, for safety: bounds the covariance matrix to 32 MB.
_MOST_HEAD = 2000
# Ratings; a rarer item tells more about its raters than about itself. Chosen by hand.
_FEWEST_RATINGS = 60
# Factors at most, as many as a curator's release has by default (`methods.Method.rank`, which this
# side may not import).
_RANK = 20


@dataclass(frozen=True, eq=False)
class Tastes:
    """What was learnt beyond item effects.

    Attributes:
        factors: A row for each item of the catalogue; 0 outside the head.
        head_items: How many items the covariance was taken of.
        noise: The standard deviation of one of its entries, typically.
        user_variance: How far people's own levels lie apart.
    """

    factors: npt.NDArray[np.float32]
    head_items: int
    noise: float
    user_variance: float


def learn_tastes(
    collection: Collection,
    law: AnswerLaw,
    effects: ReportedEffects,
    spool: Spool,
    rank: int = _RANK,
) -> Tastes:
    """Cov and Wgt over the popular items, what people's own levels add taken off, and factors."""
    width, items = stretch(collection.scale), len(collection.catalog)
    head = popular_items(effects, width)
    cov, wgt = _products(law, effects, spool, head)
    moments, counts = effects.moments[head], effects.known[head]
    user_variance = _user_variance(cov, wgt, effects.people, moments, width)
    # People who rate everything high make all pairs vary together, which is no taste.
    cov -= user_variance * wgt
    within = _factors(cov, counts, moments, effects.people, rank, collection.scale.range)
    factors = np.zeros((items, within.shape[1]), np.float32)
    factors[head] = within
    noise = math.sqrt(effects.people) * float(moments.mean())
    return Tastes(factors, len(head), noise, user_variance)


def _factors(
    cov: _Floats, counts: _Floats, moments: _Floats, people: int, rank: int, width: float
) -> _Floats:
    """What stands out of noise.

    Entry ij has noise of variance people v_i v_j: even, once rows and columns are divided by the
    root of v. Such a matrix of m items is people times a sample covariance without its diagonal,
    whose eigenvalues reach 2 sqrt(people m) + m (Marchenko and Pastur), which is 2 sigma sqrt(m)
    for the sigma below.
    """
    roots = np.sqrt(moments)
    sigma = math.sqrt(people) + math.sqrt(len(cov)) / 2
    return clean_auto(cov / roots[:, None] / roots, counts / roots, sigma, rank, width)


def popular_items(
    effects: ReportedEffects, width: float, most: int = _MOST_HEAD
) -> npt.NDArray[np.int32]:
    """The popular items among which tastes stand out of the noise, in rising order.

    Of the h most popular, tastes have an eigenvalue of about strength x sum n^2 / people, and noise
    reaches 2 sqrt(people h) v. As many items as leave tastes at three times the noise; where none
    do, those that bring them closest. An item that few people rated tells more of them than of it.
    """
    rated = max(int(np.count_nonzero(effects.known >= _FEWEST_RATINGS)), 2)
    order = np.argsort(-effects.counts, kind="stable")[: min(rated, most)]
    counts, moments = effects.known[order], effects.moments[order]
    size = np.arange(1, len(order) + 1)
    # strength n_i n_j/people is of rank one: its eigenvalue is its trace, strength sum n^2/people.
    tastes = _STRENGTH * width * np.cumsum(counts**2) / effects.people
    noise = 2 * np.sqrt(effects.people * size) * np.cumsum(moments) / size
    clear = np.flatnonzero(tastes >= 3 * noise)
    best = int(clear[-1]) if len(clear) else int(np.argmax(tastes / noise))
    return np.sort(order[: max(best + 1, min(2, len(order)))]).astype(np.int32)


# The largest squared length of a report's row: so many times its mean, so that no single report
# stands out of the noise while there are more reports than items (see PROOF.md); and so many usual
# answers, since rows of few items scatter more.
_LONGEST_ROW, _LEAST_ANSWERS = 2.0, 10.0


def _longest(law: AnswerLaw, moments: _Floats) -> float:
    """The most that a report's row may be long, squared."""
    return _LONGEST_ROW * float(moments.sum()) + _LEAST_ANSWERS * law.usual_square


def _products(
    law: AnswerLaw, effects: ReportedEffects, spool: Spool, head: npt.NDArray[np.int32]
) -> tuple[_Floats, _Floats]:
    """Sums over people of y_i y_j and of e_i e_j; the diagonals mean nothing and are 0."""
    cov, wgt = (np.zeros((len(head), len(head))) for _ in range(2))
    levels = effects.levels[head].astype(np.float32)
    longest = np.float32(_longest(law, effects.moments[head]))
    for block in spool.blocks():
        present = block.shown[:, head].astype(np.float32)
        # e = (s - fake)/gap is 1 on average for who rated the item and 0 for who did not; y is what
        # the answer says beyond the item's level, and 0 on average for who did not. So products of
        # two items average to those of true ratings.
        present -= np.float32(law.fake)
        present /= np.float32(law.gap)
        centred = block.table()[:, head].astype(np.float32)
        centred *= np.float32(law.slope)
        centred -= levels * present
        # A longer row is shortened: no report weighs more than a few usual ones. See PROOF.md.
        lengths = np.einsum("ij,ij->i", centred, centred)
        weights = np.sqrt(np.minimum(1.0, longest / np.maximum(lengths, longest)))[:, None]
        centred *= weights
        present *= weights
        cov += centred.T @ centred
        wgt += present.T @ present
    # An answer times itself has the noise squared in it, which is no covariance.
    np.fill_diagonal(cov, 0.0)
    np.fill_diagonal(wgt, 0.0)
    return cov, wgt


def _user_variance(
    cov: _Floats, wgt: _Floats, people: int, moments: _Floats, width: float
) -> float:
    """How far people's own levels lie apart: what pairs of ratings of one person share."""
    guess, doubt = USER_VARIANCE * width, _USER_DOUBT * width
    pairs = float(wgt.sum())
    # In this sum an unordered pair counts twice, so with a variance of 4 people v_i v_j; all pairs
    # together have at most 2 people (sum v)^2.
    noise = 2 * people * float(moments.sum()) ** 2
    if pairs <= 0 or pairs**2 * doubt**2 < noise * 1e-6:
        return guess
    variance = noise / pairs**2
    found = guess + doubt**2 / (doubt**2 + variance) * (float(cov.sum()) / pairs - guess)
    return min(max(found, guess / 4), 2 * guess)


# The share of people who have rated an item, usually; between MovieLens' 6 % and Netflix' 1 %.
_USUAL_SHARE = 0.03


def _usual_moment(collection: Collection) -> float:
    """How noisy an item's answers are, for a usual item."""
    law, scale = AnswerLaw.of(collection), collection.scale
    level, share = np.array([mean_guess(scale)[0]]), np.array([_USUAL_SHARE])
    return float(law.moment(level, share, RATING_SPREAD * stretch(scale), collection.unit)[0])


# Reports: the fewest of which a covariance can be estimated at all.
_FEWEST = 2
# Bytes of JSON around a report's arrays: generous, since it only bounds what is read.
_ENVELOPE_BYTES = 1024


class LocalReports(servers.Protocol):
    """Local reports under their public terms; see `servers.Protocol`."""

    name = PROTOCOL
    terms = Collection
    collection: Collection

    @classmethod
    def read_terms(cls, catalog: Catalog, scale: Scale, terms: Mapping[str, Any]) -> Collection:
        """See `servers.Protocol`; where no mechanism is named, the more accurate response.

        Modified Laplace is never chosen: one report in it can do more. See PROOF.md.
        """
        mechanisms: list[Any] = [Mechanism.ROUNDED_RESPONSE, Mechanism.RANDOMIZED_RESPONSE]
        if "mechanism" in terms:
            mechanisms = [terms["mechanism"]]
        elif scale.step is None:
            mechanisms = mechanisms[:1]
        tried: list[Collection] = [
            super(LocalReports, cls).read_terms(catalog, scale, {**terms, "mechanism": each})
            for each in mechanisms
        ]
        return min(tried, key=_usual_moment)

    @property
    def largest(self) -> int:
        """See `servers.Protocol`: a bit for each item and a number for each, in base64."""
        size = len(self.catalog)
        contents = (size + 7) // 8, size * np.dtype(self.collection.number).itemsize
        return _ENVELOPE_BYTES + sum(4 * ((length + 2) // 3) for length in contents)

    def read(self, content: Any) -> Report:
        """See `servers.Protocol`."""
        return Report.from_json(content, self.collection)

    def build(
        self,
        messages: Iterable[Report],
        *,
        folder: Path | None = None,
        not_private: tuple[str, ...] = (),
    ) -> Release:
        """Make a release of method "covariance" from everybody's reports of one epoch.

        Reports are read once and worked on in blocks: memory does not grow with their number (an
        unnamed temporary file does).

        Args:
            messages: One per person.
            folder: See `servers.Protocol`.
            not_private: For experiments: why the release promises nothing (a seed).

        Raises:
            InputError: There are not enough reports, or one is of another collection or epoch.
        """
        collection = self.collection
        if not 0.1 <= collection.scale.range <= 1000:
            raise InputError("a release needs a scale between 0.1 and 1,000 wide; use another unit")
        if len(collection.catalog) < 2:
            raise InputError("a release needs a catalogue of at least two items")
        law = AnswerLaw.of(collection)
        with Spool(collection, folder) as spool:
            totals = spool.fill(messages)
            if totals.reports < _FEWEST:
                found = totals.reports
                raise InputError(f"a release needs at least {_FEWEST} reports, not {found}")
            effects = reported_effects(collection, law, totals)
            tastes = learn_tastes(collection, law, effects, spool)
        return _release(collection, totals, effects, tastes, not_private)


def report(release: Release) -> dict[str, Any]:
    """Figures of a build, all of them computed from randomised reports."""
    figures = release.parameters.get("local_reports")
    if not isinstance(figures, dict):
        raise InputError("this release was not built from local reports")
    return dict(figures)


def _release(
    collection: Collection,
    totals: ReportTotals,
    effects: ReportedEffects,
    tastes: Tastes,
    not_private: tuple[str, ...],
) -> Release:
    width = stretch(collection.scale)
    arrays = {
        "item_effects": effects.effects.astype(np.float32),
        "item_effect_variances": np.maximum(effects.variances, 0).astype(np.float32),
        "item_counts": np.maximum(effects.counts, 0).astype(np.float32),
        "factors": tastes.factors,
        "factor_variances": np.zeros(len(collection.catalog), np.float32),
    }
    parameters = {
        "global_mean": collection.scale.mid + effects.mean,
        "user_variance": tastes.user_variance + effects.mean_variance,
        "rating_variance": RATING_VARIANCE * width,
        "local_reports": _figures(collection, totals, effects, tastes),
    }
    return Release(
        "covariance",
        collection.scale,
        collection.catalog,
        _guarantee(collection, not_private),
        parameters,
        arrays,
    )


def _figures(
    collection: Collection, totals: ReportTotals, effects: ReportedEffects, tastes: Tastes
) -> dict[str, Any]:
    """What an administrator wants to see."""
    users = collection.event.seen_by(Unit.USER)
    assert users is not None
    return {
        "mechanism": str(collection.mechanism),
        "epoch": collection.epoch,
        "epsilon_per_rating": collection.epsilon,
        "epsilon_per_user": getattr(users, "epsilon", None),
        "reports": totals.reports,
        "report_moves_sum": collection.influence.on_sum,
        "report_moves_count": collection.influence.on_count,
        "report_moves_mean_times_ratings": collection.influence.on_mean,
        "answers_per_report": float(totals.shown.sum()) / totals.reports,
        "ratings_estimated": float(effects.counts.sum()),
        "ratings_noise": effects.count_spread * float(np.sqrt(len(effects.counts))),
        "count_noise": effects.count_spread,
        "items_above_noise": int(np.count_nonzero(effects.counts > 2 * effects.count_spread)),
        "factors": tastes.factors.shape[1],
        "head_items": tastes.head_items,
        "covariance_noise": tastes.noise,
    }


def _guarantee(collection: Collection, not_private: tuple[str, ...]) -> Guarantee:
    items = len(collection.catalog)
    assumes = [
        "every answer was randomised on its person's own device, which protects them from the "
        "server as well as from everybody else",
        f"everybody answered once in period {collection.epoch:,}, for each of the {items:,} items "
        f"(each period costs as much again: {collection.sum_in_words})",
        "one account is one person",
    ]
    if collection.catalog.origin is CatalogOrigin.FROM_DATA:
        assumes.append("it is no secret which items were rated at all (the catalogue is from data)")
    return Guarantee(Unit.RATING, (collection.event,), 0.0, tuple(assumes), not_private)
