"""Scripts as they are served: without what is for whoever reads the source."""

from __future__ import annotations

import re

COMMENT = re.compile(
    rb"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/[ \t]*)(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_TEXT = re.compile(rb'("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)')
# Beside a punctuation mark; a plus or a minus only between two names, numbers or brackets.
_NEEDLESS = re.compile(rb"(?<=[^\w$#+\-\s]) +| +(?=[^\w$#+\-\s])")
_BETWEEN = re.compile(rb"(?<=[\w$)\]]) ?([+\-]) ?(?=[\w$(\[])")


def without_comments(script: bytes) -> bytes:
    """A script without the comments that have lines to themselves; nothing else changes.

    That is `// ...` and `/** ... */` with no code before or after them. What stands in a template
    literal is not told from code, so none may have a line that looks like a comment.
    """
    return COMMENT.sub(b"", script)


def slim(script: bytes) -> bytes:
    """A script without comments, indentation, and the spaces and line ends that say nothing.

    Spaces go beside a punctuation mark, and only in lines that are plain to read: a line that has
    an apostrophe, or a slash other than that of a division, outside double quotes and template
    literals, or a template literal inside another one, keeps its own. Line ends go after a comma,
    a semicolon or an opening bracket and before a closing brace, where no statement can end
    unseen; so do a semicolon and a comma that such a bracket makes needless. No template literal
    may go on in the next line, no comment follow such a bracket, and no statement be empty.
    """
    lines = [line.strip() for line in without_comments(script).splitlines()]
    lines = [_tighten(line) for line in lines if line]
    return b"".join(map(_ended, lines, [*lines[1:], b""]))


def _ended(line: bytes, following: bytes) -> bytes:
    """A line with what has to be between it and the next one."""
    if b"//" in line:
        return line + b"\n"
    if following.startswith(b"}"):
        return line.removesuffix(b";").removesuffix(b",")
    if following.startswith((b")", b"]")):
        return line.removesuffix(b",")
    return line if line.endswith((b",", b";", b"(", b"[", b"{")) else line + b"\n"


def _tighten(line: bytes) -> bytes:
    parts = _TEXT.split(line)
    code, texts = parts[::2], parts[1::2]
    rest = b"".join(code).replace(b" / ", b"")
    is_plain = not any(mark in rest for mark in (b"'", b"/", b"`", b'"'))
    if not is_plain or any(text.count(b"{") != text.count(b"}") for text in texts):
        return line
    parts[::2] = (_BETWEEN.sub(rb"\1", _NEEDLESS.sub(b"", part)) for part in code)
    return b"".join(parts)
