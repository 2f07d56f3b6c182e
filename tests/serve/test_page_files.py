"""The page's files: those of web/, with headers that let nothing else in."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter

from discreet.serve import Rate, Settings
from discreet.serve._routes_page import _COMMENT, add_page_routes, find_page, without_comments
from release._making import random_release
from serve._running import FREE, Talk, running

WEB = Path(__file__).resolve().parents[2] / "web"
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".html": "text/html",
}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    path = tmp_path_factory.mktemp("page") / "r.discreet"
    random_release(20, 2).save(path)
    with running(Settings(path, **FREE)) as talk:
        yield talk


# Which of some modules can be parsed, as a list of true and false.
PARSES = """
import vm from "node:vm";
let text = "";
for await (const chunk of process.stdin) text += chunk;
console.log(JSON.stringify(JSON.parse(text).map((source) => {
  try {
    return Boolean(new vm.SourceTextModule(source));
  } catch {
    return false;
  }
})));
"""


def test_every_file_is_served_scripts_without_their_comments(talk: Talk) -> None:
    files = [path for path in WEB.rglob("*") if path.is_file()]
    assert len(files) > 20
    for path in files:
        name = path.relative_to(WEB).as_posix()
        at = {"index.html": "/", "operator.html": "/operator"}.get(name, f"/{name}")
        answer = talk.ask("GET", at)
        whole = path.read_bytes()
        expected = without_comments(whole) if path.suffix == ".js" else whole
        assert (answer.status, answer.body) == (200, expected), name
        if path.suffix in TYPES:
            assert answer.headers["content-type"].startswith(TYPES[path.suffix])


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("// a\nlet b; // c\n  // d\n", "let b; // c\n"),
        ("/** a */\nlet b;\n", "let b;\n"),
        ("/**\n * a\n * // b\n */\nlet c;\n", "let c;\n"),
        ("  /** a */  \n\n", "\n"),
        ("/** a */ let b;\n/** c */\n", "/** a */ let b;\n"),
        ("/** a\n */ let b; /** c */\n", "/** a\n */ let b; /** c */\n"),
        ("let a = b /** c\n */\n", "let a = b /** c\n */\n"),
        ("/* a */\nlet url = 'http://b';\n", "/* a */\nlet url = 'http://b';\n"),
        ("let a = 6\n/ 2;\n", "let a = 6\n/ 2;\n"),
        ("let a;\n// the end", "let a;\n"),
        ("/** é ☂ */\n'é';\r\n", "'é';\r\n"),
    ],
)
def test_comments_that_have_lines_to_themselves_are_left_out(script: str, left: str) -> None:
    assert without_comments(script.encode()).decode() == left


@pytest.mark.skipif(shutil.which("node") is None, reason="node is absent")
def test_what_is_left_out_is_comments_and_what_is_left_is_a_module() -> None:
    sources = [path.read_bytes() for path in sorted(WEB.rglob("*.js"))]
    # In the place of a comment this is an error, and in a template literal it would be none.
    wrong = b"@ @\n"
    broken = [
        source[: found.start()] + wrong + source[found.end() :]
        for source in sources
        for found in _COMMENT.finditer(source)
    ]
    assert len(broken) > 200
    asked = [text.decode() for text in (*map(without_comments, sources), *broken)]
    command = ["node", "--experimental-vm-modules", "--input-type=module", "-e", PARSES]
    done = subprocess.run(
        command, input=json.dumps(asked), check=True, capture_output=True, text=True, timeout=60
    )
    assert json.loads(done.stdout) == [True] * len(sources) + [False] * len(broken)


def test_the_headers_let_nothing_else_in(talk: Talk) -> None:
    for path in ("/", "/operator", "/worker.js", "/style.css"):
        headers = talk.ask("GET", path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "public, no-cache"


def test_a_file_that_did_not_change_is_not_sent_again(talk: Talk) -> None:
    first = talk.ask("GET", "/js/app.js")
    again = talk.ask("GET", "/js/app.js", If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    head = talk.ask("HEAD", "/js/app.js")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == len(first.body)


@pytest.mark.parametrize(
    "path",
    [
        "/js",
        "/js/",
        "/index.html",
        "/js/../js/app.js",
        "/js/%2e%2e/worker.js",
        "/.hidden",
        "/etc/passwd",
    ],
)
def test_there_is_nothing_beside_the_files(talk: Talk, path: str) -> None:
    assert talk.ask("GET", path).status in (307, 404)
    assert talk.ask("POST", "/").status == 405


def test_only_files_that_a_page_is_made_of_are_served(tmp_path: Path) -> None:
    for name in ("index.html", "notes.txt", ".secret.js", "js/app.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    router = APIRouter()
    assert add_page_routes(router, tmp_path) == {"/", "/js/app.js"}
    assert {route.path for route in router.routes} == {"/", "/js/app.js"}  # type: ignore[attr-defined]


def test_the_rate_limit_leaves_the_page_alone(tmp_path: Path) -> None:
    random_release(20, 2).save(tmp_path / "r")
    few = Settings(tmp_path / "r", per_address=Rate(1, 3))
    with running(few) as talk:
        assert {talk.ask("GET", "/js/app.js").status for _ in range(20)} == {200}
        assert [talk.ask("GET", "/v1").status for _ in range(4)] == [200, 200, 200, 429]
        assert talk.ask("GET", "/").status == 200


def test_a_checkout_serves_its_own_folder() -> None:
    assert find_page() == WEB
