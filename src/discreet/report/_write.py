"""`report`: the page, made and written as `discreet report` does it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.domain import Hint, InputError
from discreet.domain.files import whole_file
from discreet.privacy.ledger import Ledger
from discreet.release import load
from discreet.report._audits import read_audits, sha256_of
from discreet.report._html import is_report
from discreet.report._page import make_report
from discreet.report._statement import GDPR, NIST, statements


def report(
    release: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    audits: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> str:
    """A page about a release that a privacy officer can file: one HTML document.

    Args:
        release: The file of a release: the page is about the file, whose digest it states.
        output: Where to write the page, too.
        ledger: The ledger that paid for the release, or its file: the page shows what is spent and
            left, and whether it paid.
        audits: Files with the output of `discreet audit --json`.
        overwrite: Whether to replace a report that is there.

    Returns:
        The page.

    Raises:
        InputError: A file cannot be used, or is there already.

    Example:
        >>> import discreet, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> discreet.fit(ratings, epsilon=1.0, ledger="unbooked").save(folder / "films.discreet")
        >>> page = discreet.report(folder / "films.discreet", folder / "films.html")
        >>> "not recorded in any ledger" in page
        True
    """
    target = None if output is None else Path(output)
    if target is not None:
        check_target(target, overwrite)
    book = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(Path(ledger))
    page = make_report(
        Path(release), ledger=book, audits=read_audits([Path(each) for each in audits])
    )
    if target is not None:
        with whole_file(target) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return page


def describe_release(
    release: str | os.PathLike[str], *, ledger: Ledger | str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """What the page says of a release, for machines: its guarantee, and the officer's topics.

    Args:
        release: The file of a release.
        ledger: The ledger that paid for it, or its file.

    Raises:
        InputError: A file cannot be used.

    Example:
        >>> import discreet, pathlib, tempfile
        >>> from discreet.report import describe_release
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "films.discreet"
        >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
        >>> discreet.fit(ratings, epsilon=1.0, ledger="unbooked").save(path)
        >>> topics = describe_release(path)["nist_sp_800_226"]
        >>> topics[0]["topic"]
        'unit of privacy'
    """
    book = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(Path(ledger))
    found = load(release, verify=True)
    stated = statements(found, book)
    paid = None if book is None else book.pair(found.guarantee, found.digest()).is_paid
    return {
        "file": Path(release).name,
        "sha256": sha256_of(Path(release)),
        **found.describe(),
        "paid_by_ledger": paid,
        "nist_sp_800_226": [item.as_json() for item in stated[NIST]],
        "gdpr_article_35": [item.as_json() for item in stated[GDPR]],
    }


def check_target(path: Path, overwrite: bool) -> None:
    """Refuse a place where no report can be written.

    Raises:
        InputError: It is not an HTML file, or another kind of file is there, or a report is and
            is not to be replaced.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("a report is an .html file", path=path)
    if path.is_file() and not is_report(path):
        raise InputError("exists and is not a report; choose another name", path=path)
    if path.exists() and not overwrite:
        hint = Hint("overwrite", True)
        raise InputError(f"exists; choose another name, or give {hint}", path=path, hints=[hint])
