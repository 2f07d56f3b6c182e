"""The page for a browser: the files of `web/`, read at the start, scripts without comments."""

from __future__ import annotations

import json
import re
import string
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.serve._published import FRESH, MemoryContent, Representation, answer

COMMENT = re.compile(
    rb"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/[ \t]*)(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_TEXT = re.compile(rb'("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)')
# Beside a punctuation mark; a plus or a minus only between two names, numbers or brackets.
_NEEDLESS = re.compile(rb"(?<=[^\w$#+\-\s]) +| +(?=[^\w$#+\-\s])")
# A line that ends like this goes on, or its statement is over: either way nothing need follow.
_NO_END = (b",", b";", b"(", b"[", b"{", b"}", b"=", b">")
_BETWEEN = re.compile(rb"(?<=[\w$)\]]) ?([+\-]) ?(?=[\w$(\[])")
# The brackets around an arrow function's only parameter, unless a word before it needs them.
_ONE_PARAMETER = re.compile(rb"(?<![\w$])\(([\w$]+)\)(?==>)")
# What is never assigned again may as well be: the source was checked.
_CONSTANT = re.compile(rb"\bconst(?=[ \[{])")
_CONSTANT_LINE = re.compile(rb"^const(?=[ \[{])")
_DECLARES = re.compile(rb"let[ \[{]")
# Values that have shorter names; not as the name of a property, or before a colon.
_VALUE = re.compile(rb"(?<![\w$.\-])(?:true|false|undefined|Infinity)(?![\w$:(])")
_VALUES = {b"true": b"!0", b"false": b"!1", b"undefined": b"void 0", b"Infinity": b"1/0"}
# What a module declares for itself: at the beginning of a line, and not exported.
_OWN = re.compile(rb"^(?:const|let|(?:async )?function\*?) ([A-Za-z]\w{3,})", re.MULTILINE)
_QUOTED = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_WORD = re.compile(rb"[\w$]+")
# Words that are, or may be, names of properties; one in capitals is none without a dot or a colon.
_NAMED = re.compile(rb"(?<!\.\.)\.\s*([\w$]+)|([\w$]+)\s*:")
_LISTED = re.compile(rb"[{,]\s*([\w$]+)(?=\s*[,}=])")
_METHOD = re.compile(
    rb"^\s+(?:async |static |get |set |\*)*([\w$]+)(?=\([^\n]*\) \{$)", re.MULTILINE
)
_SHORT = [*string.ascii_uppercase, *(f"${letter}" for letter in string.ascii_letters)]


def without_comments(script: bytes) -> bytes:
    """A script without the comments that have lines to themselves; nothing else changes.

    That is `// ...` and `/** ... */` with no code before or after them. What stands in a template
    literal is not distinguished from code, so none may have a line that looks like a comment.
    """
    return COMMENT.sub(b"", script)


# A process may run several services; the page has about 40 scripts (chosen: room for two pages).
@lru_cache(maxsize=128)
def slim(script: bytes) -> bytes:
    """A script without comments, indentation, and the spaces and line ends that say nothing.

    Spaces go beside a punctuation mark, and only in lines that are plain to read: a line that has
    an apostrophe, or a slash other than that of a division, outside double quotes and template
    literals, or a template literal inside another one, keeps its own. Line ends go after a comma,
    a semicolon, an arrow, an equals sign, an opening bracket or a brace and before a closing
    brace; so do a semicolon and a comma that such a bracket makes needless, and brackets around
    an only parameter. `const` becomes `let`, and declarations of a line each that follow one
    another become one; `true`, `false`, `undefined` and `Infinity` become the shortest expressions
    with these values, and `new Error` becomes `Error`, which does the same, in plain lines. No
    template literal may go on in the next line, no comment follow such a bracket, no statement be
    empty, and no statement that ends with the brace of an expression lack its semicolon.

    What a module declares for itself alone gets a short name, if its name is plainly nothing else.
    """
    script = _renamed(without_comments(script))
    lines = [line.strip() for line in script.splitlines()]
    lines = _joined([_tighten(line) for line in lines if line])
    return b"".join(map(_ended, lines, [*lines[1:], b""]))


def _renamed(script: bytes) -> bytes:
    taken = set(_WORD.findall(script))
    free = (short for short in map(str.encode, _SHORT) if short not in taken)
    texts, code = b"".join(_QUOTED.findall(script)), _QUOTED.sub(b'""', script)
    quoted_words = set(_WORD.findall(texts))
    named = {word for pair in _NAMED.findall(code) for word in pair}
    properties = named.union(_LISTED.findall(code), _METHOD.findall(code))
    short_names = {
        name: next(free)
        for name in dict.fromkeys(_OWN.findall(script))
        if name not in quoted_words and name not in (named if name.isupper() else properties)
    }
    return _WORD.sub(lambda found: short_names.get(found[0], found[0]), script)


def _joined(lines: list[bytes]) -> list[bytes]:
    """Lines of which declarations that follow one another are one."""
    joined: list[bytes] = []
    for line in (_CONSTANT_LINE.sub(b"let", line) for line in lines):
        before = joined[-1] if joined else b""
        is_whole = _DECLARES.match(before) and before.endswith(b";") and before.count(b";") == 1
        if is_whole and _DECLARES.match(line):
            joined[-1] = before[:-1] + b"," + line.removeprefix(b"let").lstrip()
        else:
            joined.append(line)
    return joined


def _ended(line: bytes, following: bytes) -> bytes:
    """A line with what has to be between it and the next one."""
    if b"//" in line:
        return line + b"\n"
    if following.startswith(b"}"):
        return line.removesuffix(b";").removesuffix(b",")
    if following.startswith((b")", b"]")):
        return line.removesuffix(b",")
    return line if line.endswith(_NO_END) else line + b"\n"


def _tighten(line: bytes) -> bytes:
    parts = _TEXT.split(line)
    code, texts = parts[::2], parts[1::2]
    rest = b"".join(code).replace(b" / ", b"")
    is_plain = not any(mark in rest for mark in (b"'", b"/", b"`", b'"'))
    if not is_plain or any(text.count(b"{") != text.count(b"}") for text in texts):
        return line
    # A quote ends a word as well as a space does.
    parts[::2] = (_shorten(part).strip() for part in code)
    return b"".join(parts)


def _shorten(code: bytes) -> bytes:
    code = _BETWEEN.sub(rb"\1", _NEEDLESS.sub(b"", code))
    code = _CONSTANT.sub(b"let", _ONE_PARAMETER.sub(rb"\1", code)).replace(b"new Error(", b"Error(")
    return _VALUE.sub(lambda found: _VALUES[found[0]], code)


_FOR_GOOD = "public, max-age=31536000, immutable"
"""Its address has its digest."""

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_WORKER = "worker.js"
_UNVERSIONED = ("icon.svg", "app.webmanifest")
_OPERATORS = {"js/operator.js", "js/page/history.js"}
_PROTOCOLS = {
    "local-reports": {"js/local_reports.js", "js/noise.js"},
    "open-clusters": {"js/open_clusters.js", "js/obfuscation.js", "js/same_hash.js"},
}
"""Scripts of one protocol alone, by its name."""
_NPM_ONLY = {"js/predict/vectors.js"}
"""Scripts that the package for npm has and the page does not need."""
_COLLECTING = {
    "js/coins.js",
    "js/page/admission.js",
    "js/page/contribute.js",
    "js/protocol.js",
    "js/random.js",
    "js/work.js",
}
"""Scripts of any protocol."""
_PREDICTORS = {
    f"js/predict/{name}.js" for name in ("clusters", "knn", "lists", "matrix", "pairs", "posterior")
}
"""Scripts that some releases need: a page sees to it that it keeps its release's own."""
_ALIASES = {"index.html": "/", "operator.html": "/operator"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def find_page() -> Path | None:
    """The folder of the page's files: in the installed package, or at the root of a checkout."""
    here = Path(__file__).resolve()
    checkout = here.parents[3] / "web" if here.parents[2].name == "src" else None
    for folder in (here.parent / "web", checkout):
        if folder is not None and (folder / "index.html").is_file():
            return folder
    return None


def read_page(folder: Path, collects: str | None = None) -> dict[str, Representation]:
    """Each file of the page by the path it is served at; hidden and other files are left out.

    Scripts are served slim, and only those that this service has a use for: of the protocols the
    one that it collects by. Scripts and styles are below a folder whose name is the digest of all
    files, so that a page never mixes those of two versions, and a change of any of them is a new
    version; the worker gets this name and what to keep.

    Args:
        folder: The page's files.
        collects: The name of the protocol that the service collects by, or None.
    """
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    needless = _NPM_ONLY.union(*(names for kind, names in _PROTOCOLS.items() if kind != collects))
    if collects not in _PROTOCOLS:
        needless |= _COLLECTING
    contents = {
        name: slim(path.read_bytes()) if path.suffix == ".js" else path.read_bytes()
        for name, path in files.items()
        if path.suffix in _MEDIA_TYPES and path.is_file() and not name.startswith(".")
        if name not in needless
    }
    versioned = [name for name in contents if name.startswith("js/") or name.endswith(".css")]
    version = _digest(contents)[:16]
    found = {}
    for name, content in contents.items():
        place = f"/{version}/{name}" if name in versioned else _ALIASES.get(name, f"/{name}")
        whole = _placed(name, content, version, versioned)
        found[place] = Representation.of(MemoryContent(whole), _MEDIA_TYPES[files[name].suffix])
    return found


def _digest(contents: dict[str, bytes]) -> str:
    """Of every file's name and content, each after its length: a document counts as scripts do."""
    parts = [part for name, content in contents.items() for part in (name.encode(), content)]
    return sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


def _placed(name: str, content: bytes, version: str, versioned: list[str]) -> bytes:
    """A document that points to this version, a worker that knows what to keep."""
    if name.endswith(".html"):
        return re.sub(rb'="(?=js/|style\.css")', f'="{version}/'.encode(), content)
    if name == _WORKER:
        always = [each for each in versioned if each not in _OPERATORS | _PREDICTORS]
        constants = {
            "VERSION": version,
            "PLAIN": ["./", *_UNVERSIONED],
            "OWN": always,
            "MORE": [each for each in versioned if each in _PREDICTORS],
        }
        spelled = {
            name: json.dumps(value, separators=(",", ":")) for name, value in constants.items()
        }
        lines = [f"const {name}={value};\n" for name, value in spelled.items()]
        return "".join(lines).encode() + content
    return content


def add_page_routes(
    router: APIRouter, folder: Path | None = None, *, collects: str | None = None
) -> frozenset[str]:
    """A route for each file, and none for anything else.

    Args:
        router: Where they go.
        folder: The page's files; those that came with the package if absent. If there are none,
            there is no page.
        collects: As `read_page` takes it.

    Returns:
        Their paths.
    """
    folder = folder or find_page()
    page = read_page(folder, collects) if folder else {}
    for path, found in page.items():
        _offer(router, path, found, _FOR_GOOD if path.count("/") > 1 else FRESH)
    return frozenset(page)


def _offer(router: APIRouter, path: str, found: Representation, cache: str) -> None:
    async def get(request: Request) -> Response:
        return _dressed(answer(found, request.headers, cache=cache))

    async def head(request: Request) -> Response:
        return _dressed(answer(found, request.headers, cache=cache, head=True))

    for method, take in (("GET", get), ("HEAD", head)):
        router.add_api_route(
            path, take, methods=[method], include_in_schema=False, response_model=None
        )


def _dressed(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response
