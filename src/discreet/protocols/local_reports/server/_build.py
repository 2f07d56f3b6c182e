"""From reports to a release that the same predictors read as a curator's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.domain import CatalogOrigin, InputError
from discreet.privacy import Guarantee, Unit
from discreet.protocols.local_reports.messages import Collection, Report
from discreet.protocols.local_reports.server._blocks import Spool, Totals
from discreet.protocols.local_reports.server._effects import Effects, learn_effects, stretch
from discreet.protocols.local_reports.server._law import Law
from discreet.protocols.local_reports.server._tastes import RATING_VARIANCE, Tastes, learn_tastes
from discreet.release import Release

_FEWEST = 2


def read_upload(collection: Collection, content: Any) -> Report:
    """Read what somebody sent.

    Raises:
        InputError: It is no report on this collection and epoch; one line says why.
    """
    return Report.from_json(content, collection)


def build(
    collection: Collection, uploads: Iterable[Report], *, not_private: tuple[str, ...] = ()
) -> Release:
    """Make a release of method "covariance" from everybody's reports on one epoch.

    Reports are taken one after the other, once, and worked on in blocks: memory does not grow with
    their number (a temporary file does).

    Args:
        collection: What they answer.
        uploads: One a person, read with `read_upload`.
        not_private: For experiments: why the release promises nothing (a seed).

    Raises:
        InputError: There are not enough reports, or one is not on this collection and epoch.
    """
    if not 0.1 <= collection.scale.range <= 1000:
        raise InputError("a release needs a scale between 0.1 and 1,000 wide; use another unit")
    if len(collection.catalog) < 2:
        raise InputError("a release needs a catalogue of at least two items")
    law = Law.of(collection)
    with Spool(collection) as spool:
        totals = spool.fill(uploads)
        if totals.reports < _FEWEST:
            raise InputError(f"a release needs at least {_FEWEST} reports, not {totals.reports}")
        effects = learn_effects(collection, law, totals)
        tastes = learn_tastes(collection, law, effects, spool)
    return _release(collection, totals, effects, tastes, not_private)


def report(release: Release) -> dict[str, Any]:
    """Figures of a build, all of them computed from randomised reports."""
    told = release.parameters.get("local_reports")
    if not isinstance(told, dict):
        raise InputError("this release was not built from local reports")
    return dict(told)


def _release(
    collection: Collection,
    totals: Totals,
    effects: Effects,
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
    collection: Collection, totals: Totals, effects: Effects, tastes: Tastes
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
        f"everybody answered once in epoch {collection.epoch:,}, for each of the {items:,} items "
        "(every other epoch that they answered costs as much again)",
        "one account is one person",
    ]
    if collection.catalog.origin is CatalogOrigin.FROM_DATA:
        assumes.append("it is no secret which items were rated at all (the catalogue is from data)")
    return Guarantee(Unit.RATING, (collection.event,), 0.0, tuple(assumes), not_private)
