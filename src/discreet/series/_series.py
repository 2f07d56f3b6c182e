"""A series: records arrive in periods, each is measured once, and releases follow one another.

PROOF.md has what a series promises, and why an interrupted period can be repeated.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import math
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.domain.errors import PeriodExists
from discreet.domain.files import whole_file
from discreet.measure import (
    Budget,
    GivenLedger,
    RatingsSource,
    RemoteRatings,
    Request,
    RunningSpender,
    Stream,
    assumptions,
    between,
    mentioning_charge,
    open_ledger,
)
from discreet.measure.history_pairs import APPEND_ONLY, FrozenWeights
from discreet.methods import (
    Method,
    MethodName,
    OlderRecords,
    PeriodTask,
    method_of,
    public_features,
    release_of,
)
from discreet.privacy import (
    SEEDED,
    GaussianEvent,
    Guarantee,
    Noise,
    NoisePlan,
    Period,
    Randomness,
    Receipt,
    SeriesRecord,
    SeriesTerms,
    Unit,
)
from discreet.privacy.accounting import compose
from discreet.privacy.ledger import Ledger
from discreet.ratings import Ratings, bound_contributions, cap_periods
from discreet.release import Release, StoredCatalog, encode_catalog, load
from discreet.series._periods import kind_of, period_of
from discreet.series._plan import noise_of, unit_of
from discreet.series._state import (
    FORMAT,
    Arrays,
    Folder,
    make_key,
    read_key,
    read_secret,
    read_state,
    write_secret,
    write_state,
)

# Said where rows of other periods were read too: PROOF.md, (a).
_ONE_PERIOD_EACH = "nobody has the same item in two periods of the rows that were read"

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is."""


@dataclass(frozen=True)
class AddedPeriod:
    """One period of a series, as its folder remembers it. Public.

    Attributes:
        period: Which one.
        added: When it was added, in UTC.
        charge: The number of the charge that paid for it; None if no ledger did.
        release: The digest of the release that it led to.
        size: About how many ratings it had, or how many users, as it was released.
        noise: How much noise totals have, over that of a single release of the same budget.
    """

    period: Period
    added: str
    charge: int | None
    release: str
    size: float
    noise: float


@dataclass(frozen=True)
class _Payment:
    """How a period is paid for.

    Attributes:
        ledger: As it was given.
        book: The same, opened; None if nothing is booked.
        randomness: Where noise comes from.
    """

    ledger: GivenLedger
    book: Ledger | None
    randomness: Randomness | None


class Series:
    """Releases that follow one another, each from all periods so far; no record is read twice.

    Use `create` and `open`.

    Example:
        >>> import discreet, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
        >>> series = discreet.Series.create(
        ...     folder / "films.series", scale=ratings.scale, catalog=ratings.catalog,
        ...     protect="rating", epsilon=1, period="any",
        ... )
        >>> release = series.add(ratings, "March", ledger="unbooked")
        >>> [added.period.name for added in series.periods]
        ['March']
    """

    def __init__(self, folder: Folder, content: Mapping[str, Any]) -> None:
        self._folder = folder
        self._load(content)

    def _load(self, content: Mapping[str, Any]) -> None:
        # The next generation says the same but for what a period changes.
        self._content = content
        try:
            self.terms = SeriesTerms.from_dict(content["terms"])
            self.kind: str = content["period"]
            self.delta = float(content["delta"])
            self.scale = Scale(**content["scale"])
            self.method = method_of(content["method"], content["settings"])
            self.noise = self.method.noise
            self.created: str = content["created"]
            self._generation: int = content["generation"]
            self._tag: str = content["tag"]
            self._settled: dict[str, float] = dict(content["settled"])
            # All of them, since they are the same for the whole life of a series, whatever later
            # versions choose for new ones.
            older = content["older_records"]
            self._weights = None if older is None else FrozenWeights(**older)
            self._columns: list[str] = content["columns"]
            self._origin = CatalogOrigin(content["origin"])
            self._assumes: tuple[str, ...] = tuple(content["assumes"])
            self._not_private: tuple[str, ...] = tuple(content["not_private"])
            self.periods: tuple[AddedPeriod, ...] = tuple(
                AddedPeriod(**{**each, "period": Period.from_dict(each["period"])})
                for each in content["periods"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{self._folder.path}: series.json is damaged ({error})") from None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        scale: Scale,
        catalog: Catalog,
        protect: Unit | str = Unit.USER_WEEK,
        epsilon: float = 1.0,
        delta: float | None = None,
        method: Method | str | None = None,
        noise: Noise | str = Noise.GAUSSIAN,
        period: str | None = None,
        half_life: float | None = None,
        horizon: int | None = None,
        plan: str = "factorised",
        most_periods: int | None = None,
        most_ratings: int | None = None,
        older_share: float = 0.0,
        key: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Series:
        """Start a series in a new folder. Nothing is charged yet.

        Args:
            path: The folder, which must not exist.
            scale: Of the ratings.
            catalog: The items; more may come later. It must be public: not `from-data`.
            protect: `rating`, or `user-day`, `user-week`, `user-month`: one person's ratings of
                one period.
            epsilon: What one rating, or one person's ratings of one period, costs over the whole
                life of the series.
            delta: For Gaussian noise, 1e-6 by default; Laplace noise has 0.
            method: As in `fit`; `settings` are the method's.
            noise: `gaussian` or `laplace`; Laplace noise is drawn afresh for every period.
            period: `day`, `week`, `month` or `range`; `any` for records without times. None for
                what `protect` says, or `range`.
            half_life: Periods after which a rating counts half; None for ratings that count for
                ever.
            horizon: For how many periods noise is planned; None for 64, or with a half-life for
                as many as there may be.
            plan: `factorised`, whose totals have the least noise; or `fresh`, which costs less for
                somebody who is there in many periods, and needs no secret.
            most_periods: In how many periods of all one person's ratings are used at most.
            most_ratings: The most ratings of one person in one period; for `rating`.
            older_share: How much of the pairs' budget goes to pairs of a new record with the
                person's older ones: 0.15 where people come back. Give `add` all records so far
                then, not only those of the last few periods: the guarantee assumes that no
                single record is left out later. For interactions with times, `rating` and method
                `lists`.
            key: Where to put the key that the noise of earlier periods is encrypted with; beside
                the folder if absent.
            settings: Of the method, by name.

        Raises:
            InputError: Something does not go together, or the folder exists.
        """
        unit, noise = unit_of(protect), noise_of(noise)
        _check_items(catalog)
        delta = noise.kind.default_delta if delta is None else delta
        # Within one period a user-week is a user.
        inner = Unit.RATING if unit is Unit.RATING else Unit.USER
        inside = {**settings, "protect": inner, "noise": noise}
        chosen = method_of(method, inside, presence=scale.presence)
        chosen.check_scale(scale)
        plans = _noise_plan(plan, unit, noise, half_life, horizon)
        budget = _budget_of(unit, noise, epsilon, delta, plans, most_periods, most_ratings)
        event = budget.event(f"{chosen.name} series")
        identity, kind = secrets.token_hex(16), kind_of(unit, period)
        crosses = older_share > 0
        terms = SeriesTerms(identity, unit, event, plans, most_periods, crosses=crosses)
        content = _content_of_new(terms, kind, delta, scale, chosen, catalog)
        series = cls(Folder(path), content)
        if older_share:
            if not series.could_meet_older:
                raise InputError(
                    "new records meet older ones (older_share) in a series of interactions with "
                    "times, with method lists, Gaussian noise, single records protected and all "
                    "of them kept"
                )
            weights = dataclasses.asdict(FrozenWeights(share=older_share))
            series._load(content | {"older_records": weights})
        series._make_folder(catalog, key)
        return series

    def _make_folder(self, catalog: Catalog, key: str | os.PathLike[str] | None) -> None:
        """Write a new series: its folder, its key if it has secrets, and what it says."""
        folder = self._folder
        folder.create()
        try:
            if self._has_secrets:
                make_key(self._key_place(key))
        except InputError:
            folder.path.rmdir()
            raise
        write_state(folder.state_path(0), {}, encode_catalog(catalog))
        folder.write(self._content)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Series:
        """Open a series.

        Raises:
            InputError: It is missing, damaged or of a newer format.
        """
        folder = Folder(path)
        return cls(folder, folder.read())

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._folder.path

    @property
    def unit(self) -> Unit:
        """What it protects."""
        return self.terms.unit

    @property
    def plan(self) -> NoisePlan:
        """How noise takes back earlier noise."""
        return self.terms.plan

    @property
    def epsilon(self) -> float:
        """What one unit of one period costs over the whole life of the series."""
        return self.terms.cost_after(self.unit, 1).epsilon(self.delta)

    def epsilon_in(self, periods: int) -> float:
        """What a person pays who is there in so many periods; infinite if nothing bounds it."""
        cost = self.terms.cost_of_life(periods)
        return math.inf if math.isinf(cost.pure) else cost.epsilon(self.delta)

    @property
    def release_path(self) -> Path | None:
        """The latest release; None before the first period."""
        return self._folder.release_path(self._generation) if self.periods else None

    @property
    def catalog(self) -> Catalog:
        """The items so far; read ratings with it."""
        return self._read_state()[1]

    def catalog_with(self, newer: Catalog) -> Catalog:
        """The items so far, and after them those that a newer list has besides.

        Titles and columns are the newer ones where both have an item. What a series has measured
        is kept by place, so that no item moves.

        Raises:
            InputError: The newer list has other columns.
        """
        known = self.catalog
        if list(newer.columns) != list(known.columns):
            raise InputError("the newer list of items has other columns than the series' catalogue")
        ids = tuple(dict.fromkeys((*known.ids, *newer.ids)))

        def merged(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
            texts = dict(zip(known.ids, old, strict=True)) | dict(zip(newer.ids, new, strict=True))
            return tuple(texts[name] for name in ids)

        columns = {name: merged(known.columns[name], newer.columns[name]) for name in known.columns}
        return Catalog(ids, merged(known.titles, newer.titles), known.origin, columns)

    def period(self, name: str) -> Period:
        """The next period, by its name.

        Raises:
            PeriodExists: It was added before.
            InputError: It is not written like a period of this series, or is not after the last.
        """
        for each in self.periods:
            if each.period.name == name:
                raise PeriodExists(
                    f"{self.path}: period {name} was added before; its release is in the series"
                )
        new = period_of(self.kind, name, len(self.periods) + 1)
        if new.start is not None and new.start > time.time():
            # A name mistyped would be charged, and would keep all periods before it out for ever.
            raise InputError(f"{self.path}: period {name} has not begun yet")
        last = self.periods[-1].period if self.periods else None
        ends = None if last is None else last.end
        if last is not None and ends is not None and new.start is not None and new.start < ends:
            raise InputError(
                f"{self.path}: period {name} begins before the end of {last.name}, the latest "
                "one; periods are added in order, and no two overlap"
            )
        return new

    def span_to_read(self, name: str) -> tuple[int, int] | None:
        """What `read_ratings` takes as `between` for the next period; None for all rows.

        Rows of one person and item are then folded within the period: no row of another period has
        a say in which one counts. If new records meet older ones, all are read.

        Raises:
            PeriodExists: It was added before.
            InputError: It is not written like a period of this series, or is not after the last.
        """
        period = self.period(name)
        if period.start is None or period.end is None or self._weights is not None:
            return None
        return period.start, period.end

    def write_again(self, name: str, out: str | os.PathLike[str] | None) -> Release | None:
        """Write the release of the latest period: its add may have ended before the file was there.

        Args:
            name: Of the period; if another one is the latest, nothing is written.
            out: The file; None to write none.

        Returns:
            The release; None if another period is the latest.
        """
        with self._folder.locked():
            self._load(self._folder.read())
            return self._write_latest(name, out)

    def _write_latest(self, name: str, out: str | os.PathLike[str] | None) -> Release | None:
        if not self.periods or self.periods[-1].period.name != name:
            return None
        assert self.release_path is not None
        release = load(self.release_path)
        if out is not None:
            release.save(out, overwrite=True)
        return release

    @property
    def could_meet_older(self) -> bool:
        """Whether a series like this one could have been started with an `older_share`.

        What `history_pairs/PROOF.md` rests on.
        """
        return (
            self._weights is None
            and self.method.name is MethodName.LISTS
            and self.scale.presence
            and self.unit is Unit.RATING
            and self.noise is Noise.GAUSSIAN
            and self.terms.event.ratings_per_user is None
            and self.kind != "any"
        )

    def add(
        self,
        ratings: RatingsSource,
        period: str,
        *,
        ledger: GivenLedger = None,
        out: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        new_noise: bool = False,
        features: npt.NDArray[np.float64] | None = None,
        randomness: Randomness | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Measure a period's ratings, and make a release of all periods so far.

        Only ratings whose time lies in the period are measured, if there are times. An add that
        was interrupted can be repeated, and is charged once.

        Args:
            ratings: Private; read with `catalog`, or one from `catalog_with`.
            period: Its name: "2026-W12".
            ledger: The ledger to charge; or `"unbooked"`.
            out: A file to write the release to as well.
            key: Where the key is, if it is not beside the folder.
            new_noise: Go on without the noise of earlier periods, which is lost: totals then have
                more noise than they would have.
            features: Public, as in `fit`.
            randomness: For experiments: a seeded source makes releases that say "not private".
            progress: As in `fit`.

        Raises:
            PeriodExists: It was added before.
            BudgetExceeded: The ledger has no room; nothing was measured.
            InputError: Something cannot be used.
        """
        with self._folder.locked():
            self._load(self._folder.read())
            book = open_ledger(ledger)
            recovered = self._recover(book)
            latest = self._write_latest(period, out)
            if recovered and latest is not None:
                return latest
            payment = _Payment(ledger, book, randomness)
            release = self._add(ratings, period, payment, key, new_noise, features, progress)
            if out is not None:
                release.save(out, overwrite=True)
            return release

    def _add(
        self,
        ratings: RatingsSource,
        name: str,
        payment: _Payment,
        key: str | os.PathLike[str] | None,
        new_noise: bool,
        features: npt.NDArray[np.float64] | None,
        progress: Progress | None,
    ) -> Release:
        period = self.period(name)
        self._check(ratings)
        streams, known = self._read_state()
        features = public_features(features, len(ratings.catalog), self.method)
        place = self._key_place(key)
        secret = self._read_secret(place, new_noise)
        _check_catalog(known, ratings.catalog)
        _restore_noise(streams, secret, self.plan)
        measured = self._own_records(ratings, period)
        request = self._request(measured, period, features)
        receipt = self._charge(request, period, payment)
        with mentioning_charge(payment.book is not None):
            spender = RunningSpender(
                self._budget(), receipt, self._label,
                plan=self.plan, period=period.number, streams=streams, settled=dict(self._settled),
            )  # fmt: skip
            seen = None
            if self.terms.most_periods is not None:
                assert isinstance(measured, Ratings), "others were refused before the charge"
                measured, seen = cap_periods(measured, secret, self.terms.most_periods)
            spender.measure_size(measured, self.method.protect)
            task = PeriodTask(measured, spender, features, progress, self._older(ratings, period))
            learnt = self.method.learn(task)
            promise = self._promise(request, spender, period, receipt)
            release = release_of(request, promise, self.method, learnt)
            self._publish(release, seen, place, period, receipt, payment.book, spender)
        return release

    def _read_state(self) -> tuple[dict[str, Stream], Catalog]:
        """What was released so far, without its noise, and the items."""
        sizes = [each.size for each in self.periods]
        streams, arrays = read_state(self._folder.state_path(self._generation), sizes)
        return streams, StoredCatalog(arrays, self._origin, self._columns)

    def _own_records(self, ratings: RatingsSource, period: Period) -> RatingsSource:
        """The records of the period; of each person as many as the series counts on."""
        measured, most = ratings, self.terms.event.ratings_per_user
        if period.start is not None and period.end is not None:
            measured = between(ratings, period.start, period.end)
        if most is not None and isinstance(measured, Ratings) and not ratings.intake.most_ratings:
            # Of the period's ratings: those of other periods have no say in which are kept.
            measured = bound_contributions(measured, most)
        return measured

    def _request(
        self, measured: RatingsSource, period: Period, features: npt.NDArray[np.float64] | None
    ) -> Request:
        digest = None if features is None else hashlib.sha256(features.tobytes()).hexdigest()
        return Request.of(
            measured, self.unit, self._label,
            settings=self.method, terms=self.terms.to_dict(), period=period.to_dict(),
            features=digest,
        )  # fmt: skip

    def _promise(
        self, request: Request, spender: RunningSpender, period: Period, receipt: Receipt
    ) -> Guarantee:
        """The guarantee of the release that follows from this period and all before."""
        record = SeriesRecord(self.terms, period.number, period.name, period.is_timed)
        # Totals are of all periods: what one of them rests on, all later releases rest on.
        seeded = () if spender.is_private else (SEEDED,)
        reasons = _others((*seeded, *self._not_private), request.unprotected)
        own = self._own_assumptions(request.ratings, period)
        more = _others((*own, *self._assumes), assumptions(request.ratings))
        return request.promise(
            (self.terms.event,), self.delta, receipt.charge, *reasons, more=more, series=record
        )

    def _own_assumptions(self, ratings: RatingsSource, period: Period) -> tuple[str, ...]:
        """What the promise rests on besides what any release of these ratings does."""
        if self._weights is not None:
            return (APPEND_ONLY,)
        intake = ratings.intake
        was_read, span = intake.bad_rows is not None, (period.start, period.end)
        if self.unit is not Unit.RATING and was_read and intake.between != span:
            return (_ONE_PERIOD_EACH,)
        return ()

    @property
    def _label(self) -> str:
        """What is charged for."""
        return f"{self.method.name} series"

    @property
    def _has_secrets(self) -> bool:
        """Whether later periods need the noise of earlier ones, or who was in them."""
        return self.plan.buffers > 0 or self.terms.most_periods is not None

    def _key_place(self, key: str | os.PathLike[str] | None) -> Path:
        return self._folder.key_path if key is None else Path(key)

    def _older(self, ratings: RatingsSource, period: Period) -> OlderRecords | None:
        """What the period's records meet, if they meet older ones."""
        if self._weights is None:
            return None
        assert period.start is not None and period.end is not None
        return OlderRecords(ratings, period.start, period.end, self._weights)

    def _budget(self) -> Budget:
        event = self.terms.event
        # As `NoiseKind.event` made it: all of the budget is one event.
        amount = event.sensitivity if isinstance(event, GaussianEvent) else compose([event]).pure
        return Budget(self.unit, self.noise, amount, self.delta, event.ratings_per_user)

    def _check(self, ratings: RatingsSource) -> None:
        if ratings.scale != self.scale:
            raise InputError(f"the series has the scale {self.scale}, not {ratings.scale}")
        if self.kind != "any" and not ratings.has_times:
            raise InputError(
                f"a record's time decides in which period of this series it lies ({self.kind}), "
                "and these ratings have no times"
            )
        if self.terms.most_periods is not None and isinstance(ratings, RemoteRatings):
            raise InputError(
                "a bound on a person's periods is for ratings on this machine, not Spark"
            )
        most = self.terms.event.ratings_per_user
        kept = ratings.intake.most_ratings
        is_bounded_here = kept is None and isinstance(ratings, Ratings)
        if self.unit is Unit.RATING and most != kept and not is_bounded_here:
            wanted = "as many as there are" if most is None else f"at most {most:,}"
            raise InputError(f"the series counts on {wanted} ratings of a user in a period")
        self.method.check(ratings)

    def _charge(self, request: Request, period: Period, payment: _Payment) -> Receipt:
        purpose = f"{self._label}, period {period.name}"
        if payment.book is None:
            return request.charge((self.terms.event,), purpose, payment.ledger, payment.randomness)
        request.check_bookable()
        return payment.book.charge_period(
            self.terms, period, purpose,
            randomness=payment.randomness, configuration=request.configuration,
        )  # fmt: skip

    def _read_secret(self, place: Path, new_noise: bool) -> Arrays:
        """The noise of earlier periods, and who was in how many of them."""
        counts = self.terms.most_periods is not None
        if not self._has_secrets:
            return {}
        if new_noise and not counts and not place.exists():
            make_key(place)
        if not self.periods or (new_noise and not counts):
            read_key(place)  # what is drawn now is written with it: better to know before
            return {}
        if new_noise:
            raise InputError(
                "without its secret the series cannot tell in how many periods a person was; "
                "restore it from a backup, or start a new series"
            )
        path = self._folder.secret_path(self._generation)
        try:
            return read_secret(path, read_key(place), self._tag)
        except InputError as error:
            instead = "continue with more noise: new_noise=True, --new-noise"
            if counts:
                instead = "start a new series"
            raise InputError(f"{error}; restore it from a backup, or {instead}") from error

    def _publish(
        self,
        release: Release,
        seen: Arrays | None,
        place: Path,
        period: Period,
        receipt: Receipt,
        book: Ledger | None,
        spender: RunningSpender,
    ) -> None:
        """Write drafts, record what was published, and let the drafts count: in this order."""
        folder, new, streams = self._folder, self._generation + 1, spender.streams
        tag = secrets.token_hex(16)
        write_state(folder.state_path(new), streams, encode_catalog(release.catalog))
        hidden = {f"noise:{label}": s.buffers for label, s in streams.items() if s.buffers.size}
        hidden |= seen or {}
        if self._has_secrets:
            write_secret(folder.secret_path(new), read_key(place), tag, hidden)
        with whole_file(folder.release_path(new), private=True) as temporary:
            release.save(temporary, overwrite=True)
        digest = release.digest()
        added = AddedPeriod(
            period,
            _now(),
            None if receipt.charge is None else receipt.charge.number,
            digest,
            round(spender.size, 1),
            round(spender.noise, 4),
        )
        content = {
            **self._content,
            "format": FORMAT,
            "generation": new,
            "tag": tag,
            "settled": spender.settled,
            "columns": list(release.catalog.columns),
            "assumes": list(release.guarantee.assumes),
            "not_private": list(release.guarantee.not_private),
            "periods": [*self._content["periods"], vars(added) | {"period": period.to_dict()}],
        }
        folder.write_draft(new, content)
        if book is not None:
            assert receipt.charge is not None
            book.record_publication(receipt.charge, digest)
        folder.commit(new)
        self._load(folder.read())

    def _recover(self, book: Ledger | None) -> bool:
        """Finish an add that was interrupted after its publication was recorded; drop others.

        Whether one was finished.
        """
        before = self._generation
        draft = self._folder.read_draft(self._generation + 1)
        if draft is not None and book is not None:
            latest = draft["periods"][-1]
            done = {entry.number: entry.published for entry in book.history()}
            if done.get(latest["charge"]) == latest["release"]:
                self._folder.commit(self._generation + 1)
                self._load(self._folder.read())
        self._folder.remove_others(self._generation)
        return self._generation > before


def _others(said: tuple[str, ...], besides: tuple[str, ...]) -> tuple[str, ...]:
    """What was said, each once, and not what is said besides."""
    return tuple(each for each in dict.fromkeys(said) if each not in besides)


def _content_of_new(
    terms: SeriesTerms,
    kind: str,
    delta: float,
    scale: Scale,
    method: Method,
    catalog: Catalog,
) -> dict[str, Any]:
    """What series.json says of a series before its first period."""
    fields = [field.name for field in dataclasses.fields(scale) if field.init]
    return {
        "format": FORMAT,
        "terms": terms.to_dict(),
        "period": kind,
        "delta": delta,
        "scale": {name: getattr(scale, name) for name in fields},
        "method": str(method.name),
        "settings": {
            name: str(value) if isinstance(value, str) else value
            for name, value in vars(method).items()
        },
        "created": _now(),
        "generation": 0,
        "tag": terms.series,
        "settled": {},
        "older_records": None,
        "columns": list(catalog.columns),
        "origin": str(catalog.origin),
        "assumes": [],
        "not_private": [],
        "periods": [],
    }


def _check_items(catalog: Catalog) -> None:
    if catalog.origin is CatalogOrigin.FROM_DATA:
        raise InputError("a series needs a public catalogue: give the list of items")
    if len(catalog) < 2:
        raise InputError("a series needs a catalogue of at least two items")


def _budget_of(
    unit: Unit,
    noise: Noise,
    epsilon: float,
    delta: float,
    plan: NoisePlan,
    most_periods: int | None,
    most_ratings: int | None,
) -> Budget:
    """What one period may spend."""
    budget = Budget.of(unit, noise, epsilon, delta)
    budget.check_finite()
    if most_periods is not None:
        # With a cap two periods may change together: each has what is left for one of two.
        share = 1 / plan.worst(2) if noise is Noise.GAUSSIAN else 1 / 2
        budget = dataclasses.replace(budget, amount=noise.kind.part(budget.amount, share))
    return dataclasses.replace(budget, ratings_per_user=most_ratings)


def _noise_plan(
    plan: str, unit: Unit, noise: Noise, half_life: float | None, horizon: int | None
) -> NoisePlan:
    if plan not in ("factorised", "fresh"):
        raise InputError(f"a plan is factorised or fresh, not '{plan}'")
    if noise is Noise.LAPLACE or plan == "fresh":
        return NoisePlan.fresh(half_life)
    return NoisePlan.factorised(half_life, horizon, records=unit is Unit.RATING)


def _restore_noise(streams: Mapping[str, Stream], secret: Arrays, plan: NoisePlan) -> None:
    """Give streams their earlier noise back; those whose noise is lost start afresh."""
    for label, stream in streams.items():
        buffers = secret.get(f"noise:{label}")
        if buffers is not None:
            stream.buffers = buffers
            continue
        # What the total has of the noise that is lost stays in it.
        if stream.steps:
            stream.before += (stream.sigma / stream.grid * plan.spread(stream.steps)) ** 2
        stream.steps, stream.sigma = 0, 0.0
        stream.buffers = np.zeros((plan.buffers, stream.total.size), np.int64)


def _check_catalog(known: Catalog, given: Catalog) -> None:
    if given.ids[: len(known)] != known.ids:
        raise InputError(
            "the catalogue's items are not those of the series, in its order; read the ratings "
            "with series.catalog, or with series.catalog_with(newer) if there are new items"
        )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
