"""An entry for the public registry of differential privacy deployments.

The registry (github.com/opendp/deployments-registry-data) keeps one YAML file for each deployment.
The fields here are those of its schema in autumn 2026; what only a curator knows is marked.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from discreet.domain import CatalogOrigin, InputError
from discreet.privacy import Guarantee, Unit
from discreet.release import Release
from discreet.report._odds import number_up
from discreet.report._statement import (
    BLANK,
    Made,
    composition_in_words,
    implementation_in_words,
    made_by,
    mechanisms_in_words,
    parameters_in_words,
    trust_in_words,
    unit_in_words,
)

# Choices that a curator has to check, by the field's name.
_CHOICES = {
    "data_curator_type": "Government, Industry or Nonprofit",
    "data_product_sector": "Technology, Healthcare, Education, Government, Energy or Finance",
    "publication_date": "the day of the first publication",
    "data_source_type": "Static, or Dynamic if new ratings come in",
    "release_type": "One release, or Many releases",
}
_MODELS = {Made.LOCAL: "Local"}


def registry_entry(release: Release, *, published: datetime.date | None = None) -> dict[str, Any]:
    """The entry as plain data, valid against the registry's schema.

    Args:
        release: What was deployed.
        published: When; today if absent.

    Raises:
        InputError: The release has no guarantee: there is nothing to register.

    Example:
        >>> import discreet
        >>> from discreet.report import registry_entry
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> release = discreet.fit(ratings, epsilon=1.0, ledger="unbooked")
        >>> registry_entry(release)["deployment"]["privacy_loss"]["privacy_unit"]
        'User-level'
    """
    guarantee = release.guarantee
    if not guarantee.is_private:
        raise InputError("the release is not differentially private: there is nothing to register")
    day = published or datetime.datetime.now(datetime.UTC).date()
    return {
        "url_slug": f"recommendations-{release.digest()[:12]}",
        "deployment": {
            "basic": _basic(release, day),
            "dp_variant": _variant(release),
            "privacy_loss": _loss(guarantee),
            "deployment_model": {
                "model_name": _MODELS.get(made_by(release), "Central"),
                "trust_assumptions": trust_in_words(release),
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_details": "The file is published; nobody queries the ratings.",
            },
            "implementation": _implementation(release),
            "administrative": {
                "status": "Draft",
                "registry_authors": [f"{BLANK}: who wrote this entry"],
                "tier": 3,
            },
        },
    }


def _basic(release: Release, day: datetime.date) -> dict[str, Any]:
    curator = {"data_curator_name": f"{BLANK}: who publishes it", "data_curator_type": "Industry"}
    return {
        "name": f"{BLANK}: the name of the data product",
        "data_curators": [curator],
        "description": (
            f"A recommender for {len(release.catalog):,} items, as a file from which anybody "
            f"computes recommendations at home. {release.learnt.sentences()[0]}"
        ),
        "intended_use": "Recommendations.",
        "data_product_type": "Machine learning model",
        "data_product_region": f"{BLANK}: whose data, and whose laws apply",
        "data_product_sector": "Technology",
        "publication_date": f"{day:%Y-%m-%d}",
    }


def _implementation(release: Release) -> dict[str, Any]:
    noise = mechanisms_in_words(release.guarantee)
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Settings are public choices, made before anything is measured. "
            f"{BLANK}: whether any were chosen by looking at these ratings."
        ),
        "mechanisms": f"{noise} {implementation_in_words(release)}",
        "composition": composition_in_words(release, None),
        "post_processing": (
            "Estimates of item levels, popularity and tastes are computed from the noisy sums "
            "alone; recommendations are computed from the file."
        ),
        "justification": f"{BLANK}: how epsilon and the unit were chosen",
    }


def _variant(release: Release) -> dict[str, Any]:
    catalog = "The list of items"
    if release.catalog.origin is CatalogOrigin.FROM_DATA:
        catalog = "The list of items, which was read from the ratings"
    name = "Approximate DP" if release.guarantee.delta else "Pure DP"
    kind = "interactions" if release.scale.presence else "ratings"
    return {
        "variant_name": name,
        "data_domain": f"All tables of users' {kind} of {len(release.catalog):,} listed items.",
        "unprotected_quantities": f"{catalog}, the scale, and the settings of the method.",
    }


def _loss(guarantee: Guarantee) -> dict[str, Any]:
    units = {Unit.RATING: "Rating-level", Unit.USER: "User-level"}
    parameters = {"epsilon": _rounded_up(guarantee.epsilon)}
    if guarantee.delta:
        parameters["delta"] = _rounded_up(guarantee.delta)
    return {
        "privacy_unit": units.get(guarantee.unit, f"{guarantee.unit}-level".capitalize()),
        "privacy_unit_details": unit_in_words(guarantee),
        "privacy_parameters": parameters,
        "privacy_parameters_details": parameters_in_words(guarantee),
    }


def _rounded_up(value: float) -> float:
    """To four digits: a claim is never rounded down."""
    return float(number_up(value).replace(",", ""))


def as_yaml(entry: Mapping[str, Any]) -> str:
    """An entry as YAML, with a comment where the curator has to check a choice."""
    return "\n".join(_lines(entry, "")) + "\n"


def _lines(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, each in value.items():
        note = f"  # check: {_CHOICES[name]}" if name in _CHOICES else ""
        if isinstance(each, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(each, f"{indent}  ")
        elif isinstance(each, list):
            yield f"{indent}{name}:"
            for item in each:
                if isinstance(item, Mapping):
                    first, *others = _lines(item, f"{indent}    ")
                    yield f"{indent}  - {first.lstrip()}"
                    yield from others
                else:
                    yield f"{indent}  - {_scalar(item)}"
        else:
            yield f"{indent}{name}: {_scalar(each)}{note}"


def _scalar(value: Any) -> str:
    """Numbers as they are; text in double quotes, which YAML reads as JSON does."""
    if isinstance(value, float):
        # YAML 1.1 takes 1e-06 for text; it wants a dot.
        shown = repr(value)
        return re.sub(r"^(-?\d+)e", r"\1.0e", shown)
    return json.dumps(value, ensure_ascii=False)
