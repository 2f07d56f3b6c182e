"""What those who sign have to state: topics, blanks, JSON, and an entry for the registry."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.privacy import Guarantee, PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.release import Release
from discreet.report import as_yaml, describe_release, registry_entry
from discreet.report._statement import GDPR, NIST, statements
from release._making import make_release, unprotected
from report._pages import RECORDED, gaussian, report

# What the registry's schema (autumn 2026) knows: fields with their types, or their choices; "!"
# marks those that it needs.
TEXT, NUMBER = str, (int, float)
SCHEMA: dict[str, Any] = {
    "!url_slug": TEXT,
    "!deployment": {
        "!basic": {
            "!name": TEXT, "!description": TEXT, "!intended_use": TEXT,
            "!data_product_region": TEXT,
            "!data_curators": [{
                "!data_curator_name": TEXT,
                "!data_curator_type": {"Government", "Industry", "Nonprofit"},
            }],
            "!data_product_type": {
                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data",
                "Interactive API", "SQL queries",
            },
            "data_product_sector": {
                "Technology", "Healthcare", "Education", "Government", "Energy", "Finance",
            },
            "!publication_date": "date",
        },
        "dp_variant": {
            "variant_name": {
                "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom",
            },
            "data_domain": TEXT, "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT, "privacy_unit_details": TEXT, "number_of_privacy_units": int,
            "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
            "privacy_parameters_details": TEXT,
        },
        "deployment_model": {
            "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
            "model_name_details": TEXT, "trust_assumptions": TEXT, "actors": TEXT,
            "release_type": {"One release", "Many releases"}, "release_type_details": TEXT,
            "data_source_type": {"Static", "Dynamic"}, "data_source_type_details": TEXT,
            "access_type": {"Interactive", "Non-interactive"}, "access_type_details": TEXT,
        },
        "implementation": dict.fromkeys(
            ("preprocessing_and_hyperparameter_tuning", "mechanisms", "composition",
             "post_processing", "justification", "utility", "additional_information"), TEXT,
        ),
        "!administrative": {
            "!status": {
                "Converted", "Draft", "Pending", "Changes Required", "Approved",
                "Approved (Update Requested)", "Approved (Pending)",
            },
            "!registry_authors": [TEXT], "!tier": {1, 2, 3}, "evidence_sources": dict,
        },
    },
}  # fmt: skip


def faults(value: Any, schema: Any, path: str = "") -> list[str]:
    """Where an entry does not fit."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [path]
        known = {name.lstrip("!"): each for name, each in schema.items()}
        needed = {name.lstrip("!") for name in schema if name.startswith("!")}
        found = [
            f"{path}/{name}" for name in (value.keys() - known.keys()) | (needed - value.keys())
        ]
        for name in value.keys() & known.keys():
            found += faults(value[name], known[name], f"{path}/{name}")
        return found
    if isinstance(schema, list):
        if not isinstance(value, list) or not value:
            return [path]
        return [fault for each in value for fault in faults(each, schema[0], path)]
    if isinstance(schema, set):
        return [] if value in schema else [path]
    if schema == "date":
        try:
            datetime.date.fromisoformat(value)
        except (TypeError, ValueError):
            return [path]
        return []
    return [] if isinstance(value, schema) else [path]


def made(guarantee: Guarantee) -> Release:
    return make_release(np.eye(3), guarantee=guarantee)


def test_every_topic_says_something_or_is_marked() -> None:
    for promise in (gaussian(Unit.USER, 1.0), gaussian(Unit.RATING, 1.0), unprotected()):
        found = statements(made(promise))
        assert set(found) == {NIST, GDPR}
        for items in found.values():
            assert all(item.text for item in items)
            assert all(item.says or "To fill in: " in item.text for item in items)
    topics = [item.topic for item in found[NIST]]
    assert topics == [
        "unit of privacy", "privacy parameters", "mechanisms", "composition", "trust model",
        "implementation", "side channels", "exposure during data collection", "utility",
        "bias across groups",
    ]  # fmt: skip
    assert [item.topic for item in found[GDPR]] == [
        "categories of data", "purposes", "necessity and proportionality", "retention",
        "erasure after a release", "residual risk", "measures", "consultation",
    ]  # fmt: skip


def said(release: Release, topic: str) -> str:
    found = statements(release)
    return next(i.text for items in found.values() for i in items if i.topic == topic)


def test_what_is_said_follows_the_guarantee() -> None:
    person, rating = made(gaussian(Unit.USER, 1.0)), made(gaussian(Unit.RATING, 1.0))
    assert said(person, "unit of privacy").startswith("One user with all their ratings")
    assert "not protected as a unit" in said(rating, "unit of privacy")
    assert "Epsilon 1, delta 1e-06, for a person." in said(person, "privacy parameters")
    assert "there is no bound" in said(rating, "privacy parameters")
    assert "at most 73.2 % of the time" in said(person, "residual risk")
    assert "nothing limits what can be found out" in said(rating, "residual risk")
    bare = made(unprotected())
    assert said(bare, "residual risk").startswith("Unbounded")
    assert "Differential privacy" not in said(bare, "measures")
    assert "A ledger refuses" not in said(person, "measures")
    booked = made(replace(gaussian(Unit.USER, 1.0), provenance=RECORDED))
    assert "A ledger refuses" in said(booked, "measures")


def test_the_page_has_both_lists(tmp_path: Path) -> None:
    seen = report(made(gaussian(Unit.USER, 1.0)), tmp_path)
    assert NIST in seen.text and GDPR in seen.text
    assert "To fill in: the purposes in full, and the legal basis." in seen.text


def test_machines_get_the_same(tmp_path: Path) -> None:
    release = made(replace(gaussian(Unit.USER, 1.0), provenance=RECORDED))
    path = tmp_path / "films.discreet"
    release.save(path)
    told = call("report", path, "--json").json()
    assert told == json.loads(json.dumps(describe_release(path)))
    assert not (Path("report.html")).exists() and told["paid_by_ledger"] is None
    consult = told["gdpr_article_35"][-1]
    assert consult["says"] is None and consult["to_fill_in"].startswith("the advice")
    ledger = Ledger.create(tmp_path / "l", "shop", [Limit(Unit.USER, 3.0, 1e-6)])
    foreign = call("report", path, "--json", "--ledger", ledger.path)
    assert foreign.code == 1 and json.loads(foreign.out)["paid_by_ledger"] is False


@pytest.mark.parametrize("unit", [Unit.USER, Unit.RATING])
def test_an_entry_fits_the_registry(unit: Unit) -> None:
    entry = registry_entry(made(gaussian(unit, 1.0)), published=datetime.date(2026, 11, 18))
    assert faults(entry, SCHEMA) == []
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"
    assert entry["deployment"]["basic"]["publication_date"] == "2026-11-18"
    # The check finds what does not fit.
    assert faults({**entry, "surprise": 1}, SCHEMA) == ["/surprise"]
    entry["deployment"]["basic"]["publication_date"] = "1/1/2026"
    del entry["deployment"]["administrative"]["tier"]
    assert sorted(faults(entry, SCHEMA)) == [
        "/deployment/administrative/tier", "/deployment/basic/publication_date",
    ]  # fmt: skip


def test_an_epsilon_is_never_rounded_down() -> None:
    event = PureEvent(unit=Unit.USER, label="x", epsilon=0.123456, mechanism="coin")
    entry = registry_entry(made(Guarantee(Unit.USER, (event,), 0.0)))
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.1235}
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def test_nothing_is_registered_without_a_guarantee() -> None:
    with pytest.raises(InputError, match="nothing to register"):
        registry_entry(made(unprotected()))


def test_the_file_reads_back_as_the_entry(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    release = made(gaussian(Unit.USER, 1.0))
    entry = registry_entry(release)
    assert yaml.safe_load(as_yaml(entry)) == entry
    path, target = tmp_path / "films.discreet", tmp_path / "entry.yaml"
    release.save(path)
    done = call("report", path, "--registry", target)
    assert done.code == 0 and "deployments-registry-data" in done.err
    assert faults(yaml.safe_load(target.read_text()), SCHEMA) == []
    assert "# check: Government, Industry or Nonprofit" in target.read_text()
    assert "give --overwrite" in call("report", path, "--registry", target).complaint()
    assert "a .yaml file" in call("report", path, "--registry", tmp_path / "e.txt").complaint()
