"""What a reproduction finds, and the files that it is told in."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file

Row = Mapping[str, Any]

EYES_ONLY = (
    "For the curator's eyes only: these figures were read off ratings without paying for it. "
    "Publish them only if the ratings are public or made up."
)


@dataclass(frozen=True)
class Claim:
    """One thing that the paper states, and what was found here."""

    what: str
    paper: str
    here: str


@dataclass(frozen=True)
class Found:
    """A figure or table of a paper, made again.

    Attributes:
        rows: The table behind the picture; all have the same columns.
        claims: What the paper states beside what was found.
        notes: Why the two differ, one paragraph each.
        draw: Draws on an empty matplotlib figure.
        size: Of the picture, in inches.
        more: Further tables, by what is added to the file's name.
        made_on: What it was made on, if not on the study's ratings.
    """

    rows: Sequence[Row]
    claims: Sequence[Claim]
    notes: Sequence[str]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (11.0, 4.4)
    more: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    made_on: str | None = None


def check_pictures() -> None:
    """Find out early whether pictures can be drawn.

    Raises:
        MissingPart: Matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPart("pictures need matplotlib: pip install 'discreet[plots]'")


def write_found(
    folder: Path, name: str, head: Sequence[str], found: Found, data: str, *, personal: bool = True
) -> list[Path]:
    """Write name.svg, name.csv, name.md and further tables; each whole or not at all.

    Args:
        folder: Made if it is not there.
        name: The reproduction's.
        head: What it is, and of which paper: a title and a sentence.
        found: What to tell.
        data: What it was made on, in a sentence.
        personal: Whether ratings of people were looked at.

    Raises:
        InputError: They cannot be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}", path=folder) from error
    picture, text = folder / f"{name}.svg", folder / f"{name}.md"
    with whole_file(picture) as temporary:
        _draw(temporary, found, personal)
    tables = {folder / f"{name}.csv": found.rows}
    tables |= {folder / f"{name}-{more}.csv": rows for more, rows in found.more.items()}
    for path, rows in tables.items():
        with whole_file(path) as temporary:
            _write_table(temporary, rows)
    with whole_file(text) as temporary:
        said = _page(name, head, found, data, [picture, *tables])
        temporary.write_text(said + f"\n{EYES_ONLY}\n" * personal, encoding="utf-8")
    return [picture, *tables, text]


def _draw(path: Path, found: Found, personal: bool) -> None:
    check_pictures()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same figures give the same file: no date in it, and no random names.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet", "font.size": 9}):
        figure = Figure(figsize=found.size, layout="constrained")
        found.draw(figure)
        if personal:
            figure.suptitle("For the curator's eyes only", fontsize=9, color="0.4")
        figure.savefig(path, format="svg", metadata={"Date": None})


def _write_table(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return json.dumps(value)
    return f"{value:.6g}" if isinstance(value, float) else value


def _page(name: str, head: Sequence[str], found: Found, data: str, files: Sequence[Path]) -> str:
    title, source = head
    lines = [f"# {name}: {title}", "", source, "", found.made_on or data, ""]
    lines += ["| | the paper | here |", "|---|---|---|"]
    lines += [f"| {_bar(c.what)} | {_bar(c.paper)} | {_bar(c.here)} |" for c in found.claims]
    lines += ["", "## Why it differs", "", *(f"- {note}" for note in found.notes), ""]
    links = ", ".join(f"[{path.name}]({path.name})" for path in files)
    lines += [f"Files: {links}.", ""]
    return "\n".join(lines)


def _bar(text: str) -> str:
    return text.replace("|", "\\|")
