"""Pages of releases that are made for a test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.domain import CatalogOrigin
from discreet.privacy import ChargeRecord, GaussianEvent, Guarantee, Provenance, Unit
from discreet.privacy.accounting import calibrate_gaussian
from discreet.protocols.open_clusters.messages import Collection
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.report import AuditFinding, make_report, sha256_of
from papers.untrusted_server.clusters import simulated_uploads
from report._reading import Seen, see


def report(release: Release, folder: Path, **told: Any) -> Seen:
    release.save(folder / "films.discreet", overwrite=True)
    return see(make_report(folder / "films.discreet", **told))


def report_of_canaries(
    release: Release, folder: Path, own: AuditFinding, *others: AuditFinding
) -> Seen:
    """With an audit of the very file."""
    path = folder / "films.discreet"
    release.save(path, overwrite=True)
    return see(make_report(path, audits=[replace(own, release_sha256=sha256_of(path)), *others]))


def gaussian(unit: Unit, epsilon: float) -> Guarantee:
    sigma = calibrate_gaussian(1.0, epsilon, 1e-6)
    event = GaussianEvent(unit=unit, label="sums", sensitivity=1.0, sigma=sigma)
    return Guarantee(unit, (event,), 1e-6, ("one account is one person",))


RECORDED = Provenance(
    version="0.2.0",
    catalog=CatalogOrigin.GIVEN,
    configuration="1" * 64,
    charge=ChargeRecord("2" * 64, "customers", 3, "4" * 64),
)
"""Of a release that says which charge paid for it."""


def open_clusters(ratings: Ratings, **told: Any) -> Release:
    collection = Collection(ratings.catalog, ratings.scale, bits=1, **told)
    return OpenClusters(collection).build(simulated_uploads(ratings, collection))
