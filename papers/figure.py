"""What a reproduction finds, the files it is written to, and what its pictures have in common."""

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
class Result:
    """A figure or table of a paper, made again.

    Attributes:
        rows: The table behind the picture; all have the same columns.
        claims: What the paper states beside what was found.
        notes: Why the two differ, one paragraph each.
        draw: Draws on an empty matplotlib figure.
        size: Of the picture, in inches.
        more: Further tables, by the suffix of the file's name.
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


def write_result(
    folder: Path,
    name: str,
    head: Sequence[str],
    result: Result,
    data: str,
    *,
    personal: bool = True,
) -> list[Path]:
    """Write name.svg, name.csv, name.md and further tables; each is complete or absent.

    Args:
        folder: Created if it does not exist.
        name: The reproduction's.
        head: A title, and a sentence that names the paper.
        result: What to write.
        data: What it was made on, in a sentence.
        personal: Whether people's ratings were used.

    Raises:
        InputError: The files cannot be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}", path=folder) from error
    picture, text = folder / f"{name}.svg", folder / f"{name}.md"
    with whole_file(picture) as temporary:
        _draw(temporary, result, personal)
    tables = {folder / f"{name}.csv": result.rows}
    tables |= {folder / f"{name}-{more}.csv": rows for more, rows in result.more.items()}
    for path, rows in tables.items():
        with whole_file(path) as temporary:
            _write_table(temporary, rows)
    with whole_file(text) as temporary:
        page = _page(name, head, result, data, [picture, *tables])
        temporary.write_text(page + f"\n{EYES_ONLY}\n" * personal, encoding="utf-8")
    return [picture, *tables, text]


def _draw(path: Path, result: Result, personal: bool) -> None:
    check_pictures()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same figures give the same file: no date in it, and no random names.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet", "font.size": 9}):
        figure = Figure(figsize=result.size, layout="constrained")
        result.draw(figure)
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


def _page(name: str, head: Sequence[str], result: Result, data: str, files: Sequence[Path]) -> str:
    title, source = head
    lines = [f"# {name}: {title}", "", source, "", result.made_on or data, ""]
    lines += ["| | the paper | here |", "|---|---|---|"]
    for claim in result.claims:
        cells = (text.replace("|", "\\|") for text in (claim.what, claim.paper, claim.here))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Why it differs", "", *(f"- {note}" for note in result.notes), ""]
    links = ", ".join(f"[{path.name}]({path.name})" for path in files)
    lines += [f"Files: {links}.", ""]
    return "\n".join(lines)


# Curves: what the pictures have in common.

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PAPER_STYLE = {"color": "0.55", "marker": "X", "linestyle": ":", "linewidth": 0.8, "markersize": 5}
"""How the paper's own numbers look."""


def curve(
    axes: Any, rows: Sequence[Any], x: str, y: str, label: str, place: int, **style: Any
) -> None:
    """One line through rows, in the colour of its place."""
    looks = {"color": COLOURS[place % len(COLOURS)], "marker": "o", "markersize": 3} | style
    axes.plot([row[x] for row in rows], [row[y] for row in rows], label=label, **looks)


def level(axes: Any, value: float, label: str, style: str = "--") -> None:
    """A horizontal line."""
    axes.axhline(value, color="0.35", linewidth=0.9, linestyle=style, label=label)


def finish(axes: Any, title: str, x: str, y: str, *, log_x: bool = False) -> None:
    """Title, labels, legend."""
    axes.set_title(title, loc="left", fontsize=9)
    axes.set(xlabel=x, ylabel=y)
    if log_x:
        axes.set_xscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=7)


def where(rows: Sequence[Any], **wanted: Any) -> list[Any]:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]
