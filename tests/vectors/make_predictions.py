"""Write predictions.json: small releases of every method, some people, and what is predicted.

python tests/vectors/make_predictions.py

A case holds a release file (deflated, in base64), people with own ratings, and for each of some
predictors what Python says of each person:

- `scores`: what lists are ordered by, of every item;
- `expected`: the expected ratings of every item, not clipped; empty where there are none;
- `items`, `predictions`: some items, and their expected ratings, clipped; of presence, rough
  probabilities; empty for method `lists`;
- `recommendations`: item, score, reasons as [own item, amount], expected rating or null. Reasons
  leave out what an own rating adds to every item alike;
- `contributions`: for each of `items`, what each own item adds, that included.

Lists of numbers are little-endian in base64: scores and expected float32, everything else float64.
Beside the cases: scales, and what they make of some numbers.
"""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import PRESENCE, Catalog, OwnRatings, Scale
from discreet.domain.cluster_hash import from_grid, to_grid
from discreet.predict import People, load
from discreet.privacy import NO_NOISE, GaussianEvent, Guarantee, PureEvent, Unit
from discreet.release import Recommender, Release, pack
from discreet.release._release import _PREDICTORS

FILE = Path(__file__).with_name("predictions.json")
LIST = 5
"""How many items are recommended."""

Floats = npt.NDArray[np.float64]
STARS, HALVES = Scale(1, 5), Scale(0.5, 5, 0.5)
CONTINUOUS = Scale(-10, 10, None)
SCALES = (STARS, HALVES, CONTINUOUS, PRESENCE, Scale(0, 1, 0.1), Scale(-1, 9, 0.25))
NONE = Guarantee(Unit.RATING, (), 0.0, not_private=(NO_NOISE,))


def spent() -> Guarantee:
    events = (
        GaussianEvent(unit=Unit.RATING, label="sums", sensitivity=2.0, sigma=9.0),
        PureEvent(unit=Unit.RATING, label="choice", epsilon=0.25, mechanism="gumbel"),
    )
    return Guarantee(Unit.RATING, events, 1e-6, assumes=("one account is one person",))


def catalog_of(d: int, titled: bool) -> Catalog:
    ids = [str(3 * i + 1) for i in range(d)]
    kinds = ("Alien", "Amélie", "七人の侍", "Pingu 🐧")
    return Catalog(ids, [f"{kinds[i % 4]} {i // 4 + 1}" for i in range(d)] if titled else None)


def levels(rng: np.random.Generator, d: int, scale: Scale) -> tuple[Any, dict[str, Any]]:
    """Arrays and parameters that the methods of a model share."""
    unit = 1.0 if scale.presence else scale.range / 4
    effects = rng.normal(0, 0.4 * unit, d)
    effects[-1] = effects[-2]  # equals, whose order in lists is the catalogue's
    arrays = {
        "item_effects": effects.astype(np.float32),
        "item_effect_variances": rng.uniform(0, 0.1 * unit**2, d).astype(np.float32),
        "item_counts": rng.uniform(1, 99, d).astype(np.float32),
    }
    parameters = {
        "global_mean": -1.5 if scale.presence else scale.mid + 0.2 * unit,
        "user_variance": 0.0 if scale.presence else 0.2 * unit**2,
        "rating_variance": 0.7 * unit**2,
    }
    return arrays, parameters


def factored(method: str, scale: Scale, d: int, k: int, m: int = 0, **told: Any) -> Release:
    """A release with factors, and the covariance of a head of m items."""
    rng = np.random.default_rng(d + k + m)
    arrays, parameters = levels(rng, d, scale)
    unit = 1.0 if scale.presence else scale.range / 4
    factors = rng.normal(0, 0.45 * unit, (d, k))
    factors[-1] = factors[-2]
    arrays["factors"] = factors.astype(np.float32)
    arrays["factor_variances"] = rng.uniform(0, 0.05 * unit**2, d).astype(np.float32)
    if m:
        head = rng.permutation(d)[:m].astype(np.int32)
        weights = np.round(rng.uniform(-2, 40, (m, m)))  # equals among them, and some below 0
        true = factors[head] @ factors[head].T + np.eye(m) * unit**2
        diagonal = told.pop("diagonal", True)
        weights = np.triu(weights, 0 if diagonal else 1)
        noise = rng.normal(0, 3.0 * unit**2, (m, m))
        arrays |= {
            "head": head,
            "covariance": pack(true * np.maximum(weights, 0) + noise),
            "weights": pack(weights),
        }
        parameters |= {"covariance_noise": 3.0 * unit**2, "weights_noise": 2.0}
    told = parameters | told
    return Release(method, scale, catalog_of(d, True), spent(), told, arrays)


def listed(method: str, scale: Scale, d: int, h: int, k: int) -> Release:
    """A release with a lists section: rows of every other item, h at most."""
    rng = np.random.default_rng(d + h + k)
    plain = factored("refined", scale, d, 3)
    head = np.arange(1, d, 2)[:h]
    tail = rng.normal(0.3, 0.5, d)
    arrays = {
        "list_popularity": rng.uniform(0, 0.5, d),
        "list_start": rng.normal(0.05, 0.1, d),  # some below 0
        "list_gain": rng.uniform(0, 2, d),
        "list_head": head,
        "list_rows": rng.integers(-127, 128, (len(head), k)),
        "list_scales": rng.uniform(0.001, 0.004, k),
        "list_tail": tail,
        "list_axis": rng.normal(0, 0.3, k),
    }
    for name in ("list_popularity", "list_start", "list_gain", "list_tail"):
        arrays[name][-1] = arrays[name][-3]  # equals, whose order in lists is the catalogue's
    types = {"list_head": np.int32, "list_rows": np.int8}
    section = {name: array.astype(types.get(name, np.float32)) for name, array in arrays.items()}
    if method == "lists":
        section["item_counts"] = plain.arrays["item_counts"]
        return replace(plain, method=method, parameters={"settings": {}}, arrays=section)
    return replace(plain, arrays={**plain.arrays, **section})


def described(release: Release) -> Release:
    """The same, with public columns in the catalogue."""
    d, kinds = len(release.catalog), ("Comedy|Drama", "", "Sci-Fi", "Amélie ☂")
    columns = {
        "genres": [kinds[i % 4] for i in range(d)],
        "year": [str(1990 + i) for i in range(d)],
    }
    catalog = Catalog(release.catalog.ids, release.catalog.titles, columns=columns)
    return replace(release, catalog=catalog)


def paired(method: str, scale: Scale, d: int, m: int, noise: float) -> Release:
    """A release of item pairs; without any if m is 0."""
    rng = np.random.default_rng(d + m)
    arrays, parameters = levels(rng, d, scale)
    names = {"slope-one": ("difference", "pair"), "cosine": ("product", "square")}[method]
    if m:
        arrays["head"] = rng.permutation(d)[:m].astype(np.int32)
        shared = rng.uniform(5, 60, (m, m)) + noise * rng.normal(size=(m, m))
        if method == "slope-one":
            arrays["differences"] = pack(np.triu(rng.normal(0, 0.5, (m, m)) * shared, 1))
            arrays["pair_weights"] = pack(np.triu(shared, 1))
        else:
            squares = rng.uniform(20, 90, m)
            like = rng.uniform(-0.2, 0.7, (m, m)) * np.sqrt(np.outer(squares, squares))
            arrays["products"] = pack(np.triu(like + noise * rng.normal(size=(m, m)), 1))
            arrays["squares"] = squares.astype(np.float32)
        parameters |= {f"{name}_noise": noise for name in names}
    return Release(method, scale, catalog_of(d, d % 2 == 0), spent(), parameters, arrays)


def clustered(method: str, scale: Scale, d: int, bits: int, thin: float, **told: Any) -> Release:
    """A release of clusters, some of them without an entry."""
    rng = np.random.default_rng(d + bits)
    buckets = 1 << bits
    entries = rng.random((buckets, d)) < 0.4
    entries[::5] = False
    bucket, items = np.nonzero(entries)
    counts = rng.integers(1, 30, len(items)).astype(np.int32)
    means = rng.normal(0, 0.2 * scale.range, len(items))
    arrays: dict[str, Any] = {
        "item_effects": rng.normal(0, 0.1 * scale.range, d).astype(np.float32),
        "item_counts": rng.uniform(1, 99, d).astype(np.float32),
        "bucket_sizes": np.full(buckets, 9, np.int32),
        "bucket_raters": rng.integers(0, 9, buckets).astype(np.int32),
        "bucket_fakes": rng.uniform(0, 4, buckets).astype(np.float32),
        "bucket_fake_means": rng.normal(0, 0.2, buckets).astype(np.float32),
        "bucket_ends": np.cumsum(np.bincount(bucket, minlength=buckets)).astype(np.int64),
        "bucket_items": items.astype(np.int32),
        "bucket_sums": (means * counts).astype(np.float32),
        "bucket_counts": counts,
    }
    parameters: dict[str, Any] = {
        "global_mean": scale.mid, "bits": bits, "thin": thin, "fake_percent": 60,
        "popular_share": 0.1,
    }  # fmt: skip
    return Release(method, scale, catalog_of(d, True), NONE, parameters | told, arrays)


def releases() -> dict[str, Release]:
    return {
        "refined": factored("refined", STARS, 24, 5),
        "refined, continuous": factored("refined", CONTINUOUS, 16, 3),
        "refined, presence": factored("refined", PRESENCE, 24, 4),
        "refined, no factors": factored("refined", HALVES, 9, 0),
        "refined, lists": listed("refined", STARS, 25, 9, 6),
        "refined, lists, halves": listed("refined", HALVES, 17, 99, 4),
        "refined, lists, presence": listed("refined", PRESENCE, 15, 5, 3),
        "lists": listed("lists", PRESENCE, 25, 9, 6),
        "lists, stars": listed("lists", STARS, 17, 99, 4),
        "lists, no head": listed("lists", PRESENCE, 9, 0, 2),
        "lists, no rank": listed("lists", PRESENCE, 9, 4, 0),
        "lists, columns": described(listed("lists", PRESENCE, 8, 4, 2)),
        "covariance, head": factored("covariance", STARS, 24, 3, 15),
        "covariance, large": factored("covariance", HALVES, 48, 6, 30, covariance_scale=1.25),
        "covariance, no diagonal": factored(
            "covariance", CONTINUOUS, 20, 0, 12, diagonal=False
        ),
        "slope-one": paired("slope-one", HALVES, 20, 14, 3.0),
        "slope-one, exact": paired("slope-one", CONTINUOUS, 15, 9, 0.0),
        "slope-one, no pairs": paired("slope-one", STARS, 9, 0, 0.0),
        "cosine": paired("cosine", STARS, 20, 14, 3.0),
        "cosine, continuous": paired("cosine", CONTINUOUS, 15, 9, 1.0),
        "cosine, presence": paired("cosine", PRESENCE, 18, 12, 0.5),
        "open-clusters": clustered("open-clusters", STARS, 20, 3, 4.0, beacon="Zürich ☂"),
        "open-clusters, not thin": clustered("open-clusters", CONTINUOUS, 12, 2, 0.0, hash="lsh"),
        "closed-clusters": clustered("closed-clusters", HALVES, 20, 3, 2.5),
    }  # fmt: skip


def people_of(release: Release) -> list[OwnRatings]:
    """Nothing rated, one item, all the same, more and more ratings; by the head of the lists."""
    d, scale, rng = len(release.catalog), release.scale, np.random.default_rng(7)

    def draw(count: int) -> Floats:
        if scale.presence:
            return np.ones(count)
        if scale.step is None:
            return np.asarray(rng.uniform(scale.lo, scale.hi, count).round(3))
        return np.asarray(rng.choice(scale.levels, count))

    counts = [0, 1, 4, d // 2, d - LIST]
    chosen = [np.sort(rng.choice(d, count, replace=False)).astype(np.int32) for count in counts]
    if "list_head" in release.arrays:  # items of the head alone, and items outside it alone
        head = release.arrays["list_head"].astype(np.int32)
        chosen += [head[1:4], np.setdiff1d(np.arange(d, dtype=np.int32), head)[1:5]]
        counts = [len(items) for items in chosen]
    values = [draw(count) for count in counts]
    values[2][:] = values[2][0]
    return [OwnRatings(*one) for one in zip(chosen, values, strict=True)]


def wanted_items(own: OwnRatings, d: int) -> list[int]:
    """Some items to predict and explain: the first own one, and some of the catalogue."""
    return sorted({*own.items[:1].tolist(), 0, d // 2, d - 1})


def answer(model: Recommender, own: OwnRatings) -> dict[str, Any]:
    """What a predictor says to a person."""
    titles = model.catalog.titles
    items = wanted_items(own, len(titles))
    told = []
    for item in items:
        moved = dict(model.explain(own, item))
        told.append([moved[titles[j]] for j in own.items])
    index = {title: i for i, title in enumerate(titles)}
    rates, lists = model.predicts_ratings, model.release.method == "lists"
    plain = model.release.predictor(model.name, order="expected") if rates else model
    return {
        "scores": model.scores(People.one(own), 0, 1)[0],
        "expected": plain.scores(People.one(own), 0, 1)[0] if rates else np.empty(0, np.float32),
        "items": items,
        "predictions": np.empty(0) if lists else model.predict(own, items),
        "recommendations": [
            [
                one.item,
                short(one.score),
                [[index[title], short(by)] for title, by in one.because],
                None if one.expected is None else short(one.expected),
            ]
            for one in model.recommend(own, LIST, explain=True)
        ],
        "contributions": np.array(told, np.float64).reshape(-1),
    }


def short(number: float) -> float:
    """Eight digits, which is more than float32 has, and less to read."""
    return float(f"{number:.8g}")


def names_of(release: Release) -> list[str]:
    """The predictors of a release that can read it, the method's own first."""
    names = list(_PREDICTORS[release.method])
    return [name for name in names if not (release.scale.presence and name == "knn")]


def twin_of(name: str, names: list[str]) -> str:
    """`svd` and `posterior` are one formula: only the first of them is kept."""
    pair = [each for each in names if each in ("svd", "posterior")]
    return pair[0] if name in pair else name


def answers(release: Release, people: list[OwnRatings]) -> dict[str, list[dict[str, Any]]]:
    """By predictor, what it says to each person."""
    names = names_of(release)
    models = {name: release.predictor(name) for name in names if name == twin_of(name, names)}
    return {name: [answer(model, own) for own in people] for name, model in models.items()}


def text_of(values: Any) -> Any:
    """Arrays in base64."""
    if isinstance(values, np.ndarray):
        return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()
    if isinstance(values, dict):
        return {name: text_of(value) for name, value in values.items()}
    return [text_of(value) for value in values] if isinstance(values, list) else values


def to_file(release: Release) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        release.save(path)
        return path.read_bytes()


def of_file(raw: bytes) -> Release:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        path.write_bytes(raw)
        return load(path, verify=True)


def scale_case(scale: Scale) -> dict[str, Any]:
    """What a scale makes of numbers on it, between its levels and outside."""
    span = np.linspace(-0.2, 1.2, 29)
    numbers = np.concatenate([scale.lo + scale.range * span, scale.lo + np.array([0.5, 1.5, 0.3])])
    codes = to_grid(scale, numbers)
    return {
        "scale": {n: getattr(scale, n) for n in ("lo", "hi", "step", "presence")},
        "levels": None if scale.levels is None else scale.levels.tolist(),
        "numbers": numbers.tolist(),
        "contains": scale.contains(numbers).tolist(),
        "nearest": scale.nearest(numbers).tolist(),
        "codes": codes.tolist(),
        "from_codes": from_grid(scale, codes).tolist(),
    }


def main() -> None:
    cases = []
    for name, release in releases().items():
        people = people_of(release)
        told = [{"items": own.items.tolist(), "values": own.values.tolist()} for own in people]
        file = base64.b64encode(zlib.compress(to_file(release), 9)).decode()
        case = {"name": name, "predictors": names_of(release), "release": file, "people": told}
        cases.append(case | {"answers": text_of(answers(release, people))})
    whole = {"scales": [scale_case(scale) for scale in SCALES], "cases": cases}
    FILE.write_text(json.dumps(whole, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
