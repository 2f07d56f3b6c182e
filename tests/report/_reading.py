"""A page as its reader sees it, and as a browser does."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

EMPTY = {"meta"}


@dataclass
class Seen:
    """What a page has: its tags with their attributes, its words, its tables' rows."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def row(self, first: str) -> list[str]:
        return next(row for row in self.rows if row and row[0] == first)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.seen.open.append(tag)
        if tag == "tr":
            self.seen.rows.append([])
        if tag in ("td", "th"):
            self.seen.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.seen.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.seen.open:
            return
        self.seen.words.append(data)
        if self.seen.open[-1:] in (["td"], ["th"]):
            self.seen.rows[-1][-1] += data


def see(page: str) -> Seen:
    """Read a page; every tag must be closed in its turn."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.seen.open == []
    return reader.seen
