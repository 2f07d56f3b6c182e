"""A model card for a release, in the form that Hugging Face's hub reads: YAML, then Markdown."""

from __future__ import annotations

import json
from typing import Any

from discreet.release import Release

# Digits of a digest that are shown.
_SHORT = 16
_ABOUT = (
    "Recommendations from a release of discreet: a model that holds nobody's ratings. Predictions "
    "are made from it and a person's own ratings, at home."
)
_LIMITS = (
    "Lists follow what many people have in common: niches and new items fall short. An expected "
    "rating is an estimate. The guarantee covers this file, not what else its publisher publishes."
)


def model_card(release: Release, *, title: str, licence: str = "other") -> str:
    """The card, from what the release says of itself alone.

    Args:
        release: The release.
        title: What the model is called.
        licence: Under which licence you publish it, as the hub spells it: `apache-2.0`.
    """
    guarantee, about = release.guarantee, release.describe()
    head: dict[str, Any] = {
        "license": licence,
        "library_name": "discreet",
        "pipeline_tag": "other",
        "tags": ["recommender-system", "collaborative-filtering"],
    }
    if guarantee.is_private:
        head["tags"].append("differential-privacy")
        head |= {"dp_epsilon": guarantee.epsilon, "dp_delta": guarantee.delta,
                 "dp_unit": str(guarantee.unit)}  # fmt: skip
    ratings = "interactions" if release.scale.presence else f"ratings from {release.scale.spelling}"
    rows = {
        "Method": release.method,
        "Items": f"{len(release.catalog):,}, {_ORIGINS[str(release.catalog.origin)]}",
        "Learnt from": ratings,
        "Digest": f"`{about['digest'][:_SHORT]}`",
    }
    lines = [f"{name}: {_yaml(value)}" for name, value in head.items()]
    return "\n".join(
        [
            "---", *lines, "---", "",
            f"# {_plain(title)}", "",
            _ABOUT, "",
            "## Privacy", "", *(f"{line}  " for line in str(guarantee).splitlines()), "",
            "## What it knows", "", *release.learnt.sentences(), "",
            "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items()), "",
            "## Use", "", "```python", "import discreet", "",
            'model = discreet.load("model.discreet").predictor()',
            f"model.recommend({_sample(release)}, n=10)", "```", "",
            "## Limits", "",
            _LIMITS, "",
        ]
    )  # fmt: skip


_ORIGINS = {
    "given": "a public list",
    "layout": "the data set's public list",
    "from-data": "taken from the private ratings, so each shows that somebody rated it",
}


def _yaml(value: Any) -> str:
    """JSON is YAML, and quotes whatever text may hold; but YAML takes 1e-06 for text."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text


def _plain(title: str) -> str:
    return " ".join(title.split())


def _sample(release: Release) -> str:
    name = release.catalog.titles[0]
    return repr([name]) if release.scale.presence else repr({name: release.scale.hi})
