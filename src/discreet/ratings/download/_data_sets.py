"""The public data sets that `fetch` knows: where they are and how to know them again.

The MD5 sums are the publisher's own, from the `.md5` file beside each archive; the SHA-256 sums
were recorded from the same archives by others. An archive must agree with every sum listed here.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.domain import InputError

_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_RESEARCH = (
    "For research, with acknowledgement; commercial use needs GroupLens' permission; see the "
    "README inside before passing it on."
)
_DAT = ("ratings.dat", "movies.dat")
_CSV = ("ratings.csv", "movies.csv")


@dataclass(frozen=True)
class DataSet:
    """A public data set of ratings, as its publisher describes it."""

    name: str
    """What `discreet data get` calls it, and the folder it is unpacked to."""
    title: str
    address: str
    """The archive, over HTTPS."""
    ratings: int
    users: int
    items: int
    """How many items its catalogue lists; a few have no rating."""
    scale: str
    """The rating scale, as `Scale.parse` reads it."""
    files: tuple[str, ...]
    """The files that reading needs: the ratings, then the catalogue."""
    terms: str
    """What its licence asks for, in a sentence."""
    layout: str = "movielens"
    """How `read_ratings` reads its folder: `movielens` tells scale and catalogue by itself; for a
    `table` they must be given."""
    size: int | None = None
    """The archive's length in bytes, where known."""
    checksums: tuple[str, ...] = ()
    """`md5:...` or `sha256:...`, all of which the archive must match; empty where none is known."""
    changes: bool = False
    """Whether the publisher replaces the archive from time to time. It is then checked against the
    `.md5` file that lies beside it, and the counts here are those of one edition."""


def data_sets() -> tuple[DataSet, ...]:
    """Every public data set that can be fetched, small to large."""
    return _DATA_SETS


def find_data_set(name: str) -> DataSet:
    """The data set of this name.

    Raises:
        InputError: There is no such data set.
    """
    for data_set in _DATA_SETS:
        if data_set.name == name:
            return data_set
    known = ", ".join(data_set.name for data_set in _DATA_SETS)
    raise InputError(f"'{name}' is not a public data set that can be fetched; there are {known}")


_DATA_SETS = (
    DataSet(
        name="ml-100k",
        title="MovieLens 100K (1998)",
        address=f"{_GROUPLENS}ml-100k.zip",
        ratings=100_000,
        users=943,
        items=1_682,
        scale="1..5",
        files=("u.data", "u.item"),
        terms=_RESEARCH,
        size=4_924_029,
        checksums=(
            "md5:0e33842e24a9c977be4e0107933c0723",
            "sha256:50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        ),
    ),
    DataSet(
        name="ml-latest-small",
        title="MovieLens latest, small (2018 edition)",
        address=f"{_GROUPLENS}ml-latest-small.zip",
        ratings=100_836,
        users=610,
        items=9_742,
        scale="0.5..5/0.5",
        files=_CSV,
        terms=(
            "For research, with acknowledgement; may be passed on under the same terms; commercial "
            "use needs GroupLens' permission."
        ),
        changes=True,
    ),
    DataSet(
        name="ml-1m",
        title="MovieLens 1M (2003)",
        address=f"{_GROUPLENS}ml-1m.zip",
        ratings=1_000_209,
        users=6_040,
        items=3_883,
        scale="1..5",
        files=_DAT,
        terms=_RESEARCH,
        size=5_917_549,
        checksums=(
            "md5:c4d9eecfca2ab87c1945afe126590906",
            "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        ),
    ),
    DataSet(
        name="goodbooks-10k",
        title="Goodbooks-10k (2017)",
        address=(
            "https://github.com/zygmuntz/goodbooks-10k/releases/download/v1.0/goodbooks-10k.zip"
        ),
        ratings=5_976_479,
        users=53_424,
        items=10_000,
        scale="1..5",
        files=("ratings.csv", "books.csv"),
        terms="Creative Commons Attribution-ShareAlike 4.0.",
        layout="table",
        checksums=("sha256:261b97b56db61f3fb2ce5aadbb13704d30179fcc986c17ace665a0af9ed00731",),
    ),
    DataSet(
        name="ml-10m",
        title="MovieLens 10M (2009)",
        address=f"{_GROUPLENS}ml-10m.zip",
        ratings=10_000_054,
        users=69_878,
        items=10_681,
        scale="0.5..5/0.5",
        files=_DAT,
        terms=_RESEARCH,
        size=65_566_137,
        checksums=(
            "md5:ce571fd55effeba0271552578f2648bd",
            "sha256:813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
        ),
    ),
    DataSet(
        name="ml-20m",
        title="MovieLens 20M (2016)",
        address=f"{_GROUPLENS}ml-20m.zip",
        ratings=20_000_263,
        users=138_493,
        items=27_278,
        scale="0.5..5/0.5",
        files=_CSV,
        terms=_RESEARCH,
        size=198_702_078,
        checksums=(
            "md5:cd245b17a1ae2cc31bb14903e1204af3",
            "sha256:96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
        ),
    ),
    DataSet(
        name="ml-25m",
        title="MovieLens 25M (2019)",
        address=f"{_GROUPLENS}ml-25m.zip",
        ratings=25_000_095,
        users=162_541,
        items=62_423,
        scale="0.5..5/0.5",
        files=_CSV,
        terms=_RESEARCH,
        size=261_978_986,
        checksums=(
            "md5:6b51fb2759a8657d3bfcbfc42b592ada",
            "sha256:8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
        ),
    ),
    DataSet(
        name="ml-32m",
        title="MovieLens 32M (2023)",
        address=f"{_GROUPLENS}ml-32m.zip",
        ratings=32_000_204,
        users=200_948,
        items=87_585,
        scale="0.5..5/0.5",
        files=_CSV,
        terms=_RESEARCH,
        size=238_950_008,
        checksums=(
            "md5:d472be332d4daa821edc399621853b57",
            "sha256:e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
        ),
    ),
)
