"""Items and people as vectors, for an index of nearest neighbours that others keep.

Where a list's order is linear in what is known of a person, an item has a vector v_j and a person
a query vector w such that the higher v_j . w, the earlier the item:

lists     b_j + s_j (u_j . q); p_j if nothing is own  v_j = (s_j u_j, b_j, p_j)  w = (q, h, 1 - h)
expected  G + M_j + F_j z                             v_j = (F_j, G + M_j)       w = (z, 1)

with h = 1 if the person has own items (see `_lists` and `_svd`). The order `best` of a release of
ratings multiplies the first by how likely the person likes the item, which no inner product is.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file
from discreet.predict._people import People
from discreet.predict._predictor import ListsPredictor
from discreet.predict._svd import SvdPredictor
from discreet.release import Own, Release

Singles = npt.NDArray[np.float32]
VectorOrder = Literal["best", "lists", "expected"]
FORMATS = (".parquet", ".arrow", ".npz")
"""The endings of files that vectors are saved in."""


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """Vectors of a release's items, and of people who look for some of them.

    The items of the highest inner products with a person's query vector are those that
    `recommend` lists, in its order, up to the rounding of 32-bit floats. Own items are among them:
    ask an index for as many more as the person has, and leave them out.

    Attributes:
        release: What the vectors are of.
        order: What lists are ordered by: `lists` or `expected`.
        items: A row for each item of the catalogue.
    """

    release: Release
    order: Literal["lists", "expected"]
    items: Singles
    _model: ListsPredictor | SvdPredictor

    def __repr__(self) -> str:
        return f"Vectors({self.items.shape[0]:,} items, {self.items.shape[1]} columns)"

    def query(self, own: Own = ()) -> Singles:
        """The vector of a person with these ratings: as telling as the ratings themselves.

        Raises:
            InputError: An own rating is not valid.
        """
        people = People.one(self._model.read(own or {}))
        if isinstance(self._model, SvdPredictor):
            tastes = self._model._tastes(people)[0]
            return np.append(tastes, 1.0).astype(np.float32)
        assert self._model._lists is not None
        has = float(len(people.items) > 0)
        return np.append(self._model._lists._sums(people)[0], [has, 1 - has]).astype(np.float32)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the items' ids, titles and vectors: Parquet, Arrow or npz, by the file's ending.

        Parquet and Arrow have the columns `id`, `title` and `vector`; npz has arrays `ids`,
        `titles` and `vectors`. All say of which release and order they are.

        Raises:
            InputError: The ending is another one, or the file cannot be written.
        """
        ending = Path(path).suffix
        if ending not in FORMATS:
            raise InputError(
                f"vectors are saved as {', '.join(FORMATS)}, not '{ending}'", path=path
            )
        write = _write_npz if ending == ".npz" else _write_arrow
        with whole_file(path) as temporary:
            write(self, temporary, ending)

    def about(self) -> dict[str, Any]:
        """What the vectors are of, as a table of texts and numbers."""
        return {
            "release": self.release.digest(),
            "order": self.order,
            "items": self.items.shape[0],
            "columns": self.items.shape[1],
        }


def vectors(release: Release, *, order: VectorOrder = "best") -> Vectors:
    """A release's items as vectors, for an index of nearest neighbours.

    Args:
        release: Of method "lists", "refined" or "covariance".
        order: `lists`: by what the person has, from the release's lists section. `expected`: by
            the expected rating. `best`: the order of `recommend`, which is one of the two where
            the release predicts no ratings.

    Raises:
        InputError: The order is not an inner product, or the release does not have it.

    Example:
        >>> import discreet
        >>> ratings = discreet.make_ratings("ml-100k", ratings=20000, seed=1)
        >>> release = discreet.fit(
        ...     ratings, method="lists", epsilon=20.0, randomness=discreet.SeededRandomness(1)
        ... )
        >>> space = discreet.vectors(release)
        >>> has = {"1": 5, "2": 4}
        >>> best = int((space.items @ space.query(has)).argmax())
        >>> best == discreet.recommend(release, has, 1)[0].item
        True
    """
    if order not in get_args(VectorOrder):
        raise InputError(f"order is {', '.join(get_args(VectorOrder))}, not '{order}'")
    has_lists = "list_rows" in release.arrays
    rated = not release.scale.presence and release.method != "lists"
    if order == "best" and rated:
        raise InputError(
            "the order of this release's lists is not an inner product: it multiplies what a "
            "person has by what they like. Choose order 'lists' or 'expected', and let "
            "recommend(only=...) order what the index finds"
        )
    if order == "expected" and not rated:
        raise InputError("order 'expected' needs ratings, and this release predicts none")
    if has_lists and order != "expected":
        by_lists = ListsPredictor(release)
        lists = by_lists._lists
        assert lists is not None
        rows = lists._rows(np.arange(len(release.catalog), dtype=np.int32))
        levels = (lists.start, lists.popularity)
        return Vectors(
            release, "lists", np.column_stack([rows * lists.gain[:, None], *levels]), by_lists
        )
    if order == "lists" or "factors" not in release.arrays:
        raise InputError(f"a release of method '{release.method}' has no vectors in this order")
    by_rating = SvdPredictor(release)
    found = np.column_stack([by_rating._factors, by_rating._baseline])
    return Vectors(release, "expected", found, by_rating)


def _write_npz(space: Vectors, path: Path, _: str) -> None:
    catalog = space.release.catalog
    with path.open("wb") as file:
        np.savez(
            file,
            ids=np.array(catalog.ids),
            titles=np.array(catalog.titles),
            vectors=space.items,
            about=np.array(json.dumps(space.about())),
        )


def _write_arrow(space: Vectors, path: Path, ending: str) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingPart("Parquet and Arrow files need pyarrow: pip install pyarrow") from None
    catalog = space.release.catalog
    flat = pa.array(space.items.reshape(-1), pa.float32())
    columns = {
        "id": pa.array(catalog.ids, pa.string()),
        "title": pa.array(catalog.titles, pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(flat, space.items.shape[1]),
    }
    table = pa.table(columns).replace_schema_metadata({"discreet": json.dumps(space.about())})
    if ending == ".parquet":
        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
