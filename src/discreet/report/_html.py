"""HTML in which every text is escaped; there is no way to insert one unescaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NewType

Html = NewType("Html", str)
"""Text that is HTML, with everything in it escaped."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
  max-width: 50rem; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem;
  border-bottom: 1px solid #bbb; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid #ddd; }
th { font-weight: 600; } tbody th { font-weight: 500; } thead th { vertical-align: bottom; }
.short { white-space: nowrap; } .long { overflow-wrap: anywhere; } .wide { overflow-x: auto; }
.verdict { border: 2px solid #1b6e3c; border-radius: 4px; padding: .6rem .9rem; margin: 1rem 0; }
.verdict.weak { border-color: #c77700; background: #fff6e5; }
.verdict.no { border-color: #b00020; } .verdict p { margin: .2rem 0; }
.verdict p:first-child { font-weight: 700; font-size: 1.1rem; }
.small { color: #555; font-size: .85rem; }
.blank th { width: 12rem; } .blank th, .blank td { height: 2rem; vertical-align: bottom; }
.blank td { border-bottom: 1px solid #333; }
@media screen and (max-width: 40rem) { body { padding: 1rem; } th, td { overflow-wrap: anywhere; }
  .headed thead { display: none; } .headed tr { display: block; margin-bottom: .7rem; }
  .headed th, .headed td { display: block; white-space: normal; padding-right: 0; }
  .headed tbody th { font-weight: 600; } .headed td:empty { display: none; }
  .headed [data-head]::before { content: attr(data-head) ": "; color: #555; font-weight: 400; }
  .blank th { width: 7rem; } }
@page { size: A4; margin: 18mm; }
@media print { body { font-size: 10pt; max-width: none; padding: 0; }
  table { font-size: 9pt; } .wide { overflow-x: visible; } thead { display: table-header-group; }
  h2, thead { break-after: avoid; } tr, li, p, .verdict { break-inside: avoid; } }
"""

# Cells of at most this many characters are never broken; longer words may be, anywhere.
_SHORT, _LONG = 12, 30
MARK = "<!doctype html>\n<!-- a report by discreet -->\n"
"""How a page begins."""


def text(value: object) -> Html:
    """A text, escaped."""
    return Html(html.escape(str(value), quote=True))


def paragraph(said: str, kind: str = "") -> Html:
    """One paragraph."""
    return Html(f"<p{_kind(kind)}>{text(said)}</p>\n")


def bullets(said: Iterable[str]) -> Html:
    """A list; nothing if there are no points."""
    points = "".join(f"<li>{text(one)}</li>\n" for one in said)
    return Html(f"<ul>\n{points}</ul>\n" if points else "")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table; without headings the first column names the rows.

    On a narrow screen the cells of a row stand below each other, each with its heading.
    """
    head = "".join(f'<th scope="col">{text(one)}</th>' for one in heads)
    top = f"<thead><tr>{head}</tr></thead>\n" if head else ""
    lines = []
    for first, *rest in rows:
        of, *names = heads or [""] * (1 + len(rest))
        cells = "".join(
            f"<td{_kind(_width(one))}{_head(name)}>{text(one)}</td>"
            for one, name in zip(rest, names, strict=True)
        )
        name = f'<th scope="row"{_kind(_width(first))}{_head(of)}>{text(first)}</th>'
        lines.append(f"<tr>{name}{cells}</tr>\n")
    body = f"<tbody>\n{''.join(lines)}</tbody>"
    kind = _kind("headed" if head else "")
    return Html(f'<div class="wide"><table{kind}>\n{top}{body}</table></div>\n')


def to_fill_in(names: Iterable[str]) -> Html:
    """A line for each name, to be filled in by hand."""
    lines = "".join(f'<tr><th scope="row">{text(name)}</th><td></td></tr>\n' for name in names)
    return Html(f'<table class="blank">\n<tbody>\n{lines}</tbody></table>\n')


def _head(name: str) -> str:
    return f' data-head="{text(name)}"' if name else ""


def _width(cell: object) -> str:
    """The class of a cell: short ones are never broken, long words may be broken anywhere."""
    words = str(cell).split(" ")
    if len(str(cell)) <= _SHORT:
        return "short"
    return "long" if max(map(len, words)) > _LONG else ""


def box(said: Sequence[str], kind: Literal["", "weak", "no"] = "") -> Html:
    """A box: green, amber if weak, red for no."""
    kinds = f"verdict {kind}".rstrip()
    return Html(f"<div{_kind(kinds)}>\n{''.join(paragraph(one) for one in said)}</div>\n")


def section(title: str, *parts: Html) -> Html:
    """A heading and its content."""
    return Html(f"<section>\n<h2>{text(title)}</h2>\n{''.join(parts)}</section>\n")


def page(title: str, under: str, *sections: Html) -> str:
    """The whole page: no script, nothing that is fetched."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'{MARK}<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{text(title)}</h1>\n{paragraph(under, 'small')}{''.join(sections)}</body>\n</html>\n"
    )


def _kind(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def is_report(path: Path) -> bool:
    """Whether a file begins like a report."""
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()
