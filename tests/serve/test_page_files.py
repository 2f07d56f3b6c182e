"""The page's files: those of web/, with headers that let nothing else in."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter

from discreet.serve import Rate, Settings
from discreet.serve._page import (
    COMMENT,
    add_page_routes,
    find_page,
    read_page,
    slim,
    without_comments,
)
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
# Of pairs of modules, whether both mean the same: node's own parser reads them alike.
ALIKE = """
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const apart = ["start", "end", "raw"];
// A shorter expression for a value, as its usual name.
const shorter = ({ type, operator, argument, left, right }) => {
  if (type === "UnaryExpression" && operator === "void" && argument.value === 0) return "undefined";
  if (type === "UnaryExpression" && operator === "!" && argument.type === "Literal")
    return String(!argument.value);
  return type === "BinaryExpression" && operator === "/" && left.value === 1 && right.value === 0
    ? "Infinity" : undefined;
};
const usual = ({ type, name, value }) =>
  (type === "Literal" && typeof value === "boolean") ||
  (type === "Identifier" && ["undefined", "Infinity"].includes(name)) ? String(name ?? value) : "";
// Declarations one by one, and none of them constant.
const apiece = (node) => node?.type === "VariableDeclaration"
  ? node.declarations.map((one) => ({ ...node, kind: "let", declarations: [one] })) : [node];
const told = (name, value) => {
  if (apart.includes(name)) return undefined;
  if (typeof value === "bigint") return `${value}`;
  if (Array.isArray(value)) return value.flatMap(apiece);
  if (name === "kind" && value === "const") return "let";
  // An error is made with or without `new`.
  if (value?.type === "NewExpression" && value.callee.name === "Error")
    return {
      type: "CallExpression", callee: value.callee, arguments: value.arguments, optional: false,
    };
  const plain = value?.type && (usual(value) || shorter(value));
  return plain ? { value: plain } : value;
};
const how = { ecmaVersion: 2022, sourceType: "module" };
const read = (text) => JSON.parse(JSON.stringify(acorn.parse(text, how), told));
// The same tree, in which names differ one to one and never where they name a property.
const alike = (one, other) => {
  const [names, back] = [new Map(), new Map()];
  const same = (a, b, isProperty) => {
    if (a === null || typeof a !== "object") return a === b;
    const keys = Object.keys(a);
    if (b === null || keys.length !== Object.keys(b).length) return false;
    if (a.type === "Identifier" && b.type === a.type) {
      if (isProperty) return a.name === b.name;
      if (!names.has(a.name)) names.set(a.name, b.name);
      if (!back.has(b.name)) back.set(b.name, a.name);
      return names.get(a.name) === b.name && back.get(b.name) === a.name;
    }
    const fixed = a.computed ? [] : ["property", "key", "imported", "exported"];
    return keys.every((key) => same(a[key], b[key], fixed.includes(key)));
  };
  return same(read(one), read(other));
};
const pairs = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(pairs.map(([one, other]) => alike(one, other))));
"""


def scripts() -> list[bytes]:
    return [path.read_bytes() for path in sorted(WEB.rglob("*.js"))]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is absent")
def test_what_is_served_means_what_the_source_does() -> None:
    pairs = [(source.decode(), slim(source).decode()) for source in scripts()]
    # So that it would be seen if one did not.
    wrong = [
        ("f(`a , b`);", "f(`a,b`);"),
        ("f(a.b); b();", "f(a.c); c();"),
        ("f(a, b);", "f(a, a);"),
        ("g({ a });", "g({ b });"),
    ]
    pairs += wrong
    command = ["node", "--expose-internals", "-e", ALIKE]
    done = subprocess.run(
        command, input=json.dumps(pairs), check=False, capture_output=True, text=True, timeout=60
    )
    if "Cannot find module" in done.stderr:
        pytest.skip("this node has no parser inside")
    assert json.loads(done.stdout) == [True] * (len(pairs) - len(wrong)) + [False] * len(wrong)


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("  const a = { b: 1 };\n\n  go(a);\n", "let a={b:1};go(a);"),
        ("for (const [a, b] of c) a(b);\n", "for(let[a,b]of c)a(b);"),
        ("a = { true: true, b: c === undefined };\n", "a={true:!0,b:c===void 0};"),
        ("return false;\n", "return !1;"),
        (
            "if (a < Infinity && -Infinity < b) c.undefined();\n",
            "if(a<1/0&&-Infinity<b)c.undefined();",
        ),
        ('import { a } from "b";\nreturn a + "c" + d;\n', 'import{a}from"b";return a +"c"+ d;'),
        ("const a = 'b , c';\n", "let a = 'b , c';"),
        ("const a = 1;\nlet b;\nconst [c] = d;\ne();\n", "let a=1,b,[c]=d;e();"),
        ("const a = 1; b();\nconst c = 2;\n", "let a=1;b();let c=2;"),
        ("let a = {\n  b,\n};\nlet c = ';';\nlet d;\n", "let a={b};let c = ';';let d;"),
        ("a((b) => c(b), async (d) => e, (f, g) => h);\n", "a(b=>c(b),async(d)=>e,(f,g)=>h);"),
        ("let a = b\nlet c\n", "let a=b\nlet c\n"),
        ("a = b + +c - -d;\n", "a=b + +c - -d;"),
        ("a = b + c - d;\n", "a=b+c-d;"),
        ('say("a , b", `c , ${d} `);\n', 'say("a , b",`c , ${d} `);'),
        ("say(`a ${b ? `c , d` : ''} e`);\n", "say(`a ${b ? `c , d` : ''} e`);"),
        ("x = /a , b/ ;\n", "x = /a , b/ ;"),
        ("x = a / b;\n", "x=a/b;"),
        ("x = 'a , b' ;\n", "x = 'a , b' ;"),
        ("a(b); // c;\nd();\n", "a(b); // c;\nd();"),
        ("return {\n  a,\n};\n", "return{a};"),
        ("f(\n  [\n    a,\n  ],\n  b,\n)\nc\n", "f([a],b)\nc\n"),
        ("if (a) {\n  b();\n  c();\n}\nd\n", "if(a){b();c()}d\n"),
        ("{\n  a(); // b\n}\n", "{a(); // b\n}"),
        ("if (a) return\n(b)\n", "if(a)return\n(b)\n"),
        ("f = () =>\n  g();\nlet a =\n  b;\n", "f=()=>g();let a=b;"),
        ('throw new Error("new Error(");\n', 'throw Error("new Error(");'),
        ("get #x() {\n}\n", "get #x(){}"),
        ("const name = 1;\nf(...name, a ? name() : 2);\n", "let A=1;f(...A,a?A():2);"),
        ("const name = 1;\nA(name);\n", "let B=1;A(B);"),
        ("const name = 1;\nf({ name });\n", "let name=1;f({name});"),
        ("const name = 1;\nf(a.name, name);\n", "let name=1;f(a.name,name);"),
        ('const name = 1;\nf("name");\n', 'let name=1;f("name");'),
        ("export const name = 1;\nf(name);\n", "export let name=1;f(name);"),
        (
            "function name() {\n}\nclass A {\n  name() {\n  }\n}\n",
            "function name(){}class A{name(){}}",
        ),
    ],
)
def test_spaces_and_line_ends_go_where_they_say_nothing(script: str, left: str) -> None:
    assert slim(script.encode()).decode() == left


def served(collects: str | None = None) -> dict[str, bytes]:
    return {
        path: each.plain.read(0, each.plain.size) for path, each in read_page(WEB, collects).items()
    }


def test_every_file_is_served_scripts_slim_and_below_their_version(talk: Talk) -> None:
    page = served()
    version = next(path for path in page if path.endswith("/js/app.js")).split("/")[1]
    assert len(page) > 20
    for path, content in page.items():
        answer = talk.ask("GET", path)
        assert (answer.status, answer.body) == (200, content), path
        suffix = Path(path).suffix
        if suffix in TYPES:
            assert answer.headers["content-type"].startswith(TYPES[suffix])
        is_versioned = path.startswith(f"/{version}/")
        assert is_versioned == (path.endswith(".css") or "/js/" in path)
        assert ("immutable" in answer.headers["cache-control"]) == is_versioned
        if "/js/" in path:
            assert content == slim((WEB / path.removeprefix(f"/{version}/")).read_bytes())
    for path in ("/", "/operator"):
        assert f'href="{version}/style.css"'.encode() in page[path]
        assert f'src="{version}/js/'.encode() in page[path]


def test_another_script_is_another_version(tmp_path: Path) -> None:
    shutil.copytree(WEB, tmp_path / "web")
    assert read_page(tmp_path / "web").keys() == read_page(WEB).keys()
    with (tmp_path / "web/js/scale.js").open("a") as script:
        script.write("export const more = 1;\n")
    assert not any(
        path.endswith(".js")
        for path in read_page(tmp_path / "web").keys() & read_page(WEB).keys() - {"/worker.js"}
    )


@pytest.mark.parametrize("name", ["index.html", "operator.html", "worker.js", "icon.svg"])
def test_another_document_is_another_version(tmp_path: Path, name: str) -> None:
    shutil.copytree(WEB, tmp_path / "web")
    with (tmp_path / "web" / name).open("a") as file:
        file.write("\n ")
    whole = (tmp_path / "web" / name).read_bytes()
    (tmp_path / "web" / name).write_bytes(whole.replace(b"discreet", b"discrete", 1) + b" ")
    assert not any("/js/" in path for path in read_page(tmp_path / "web").keys() & read_page(WEB))


def test_of_the_protocols_the_one_that_is_collected_by_is_served() -> None:
    names = {
        kind: {path.split("/", 2)[2] for path in read_page(WEB, kind) if path.count("/") > 1}
        for kind in (None, "closed-clusters", "local-reports", "open-clusters")
    }
    assert names[None] == names["closed-clusters"]
    assert names["local-reports"] - names["open-clusters"] == {"js/local_reports.js", "js/noise.js"}
    assert names["open-clusters"] - names["local-reports"] == {
        "js/obfuscation.js", "js/open_clusters.js", "js/same_hash.js",
    }  # fmt: skip
    assert (names["local-reports"] & names["open-clusters"]) - names[None] == {
        "js/coins.js", "js/page/admission.js", "js/page/contribute.js", "js/protocol.js",
        "js/random.js", "js/work.js",
    }  # fmt: skip
    files = {path.relative_to(WEB).as_posix() for path in (WEB / "js").rglob("*.js")}
    # What is for other programs is not served.
    files.remove("js/predict/vectors.js")
    assert names["local-reports"] | names["open-clusters"] == files | {"style.css"}


@pytest.mark.parametrize("collects", [None, "local-reports", "open-clusters"])
def test_the_worker_keeps_all_that_visitors_are_served_but_predictors_that_a_page_does(
    collects: str | None,
) -> None:
    page = served(collects)
    told = [line.split("=", 1) for line in page["/worker.js"].decode().splitlines()[:4]]
    version, plain, own, more = (json.loads(value.removesuffix(";")) for _, value in told)
    assert [name.removeprefix("const ") for name, _ in told] == ["VERSION", "PLAIN", "OWN", "MORE"]
    operators = {f"/{version}/js/{name}.js" for name in ("operator", "page/history")}
    expected = page.keys() - {"/", "/operator", "/worker.js"} - operators
    kept = {*plain, *(f"{version}/{name}" for name in (*own, *more))}
    assert kept == {"./", *(path.removeprefix("/") for path in expected)}
    names = {"clusters", "knn", "lists", "matrix", "pairs", "posterior"}
    assert set(more) == {f"js/predict/{name}.js" for name in names}
    assert not set(own) & set(more)


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
    sources = scripts()
    # In the place of a comment this is an error, and in a template literal it would be none.
    wrong = b"@ @\n"
    broken = [
        source[: found.start()] + wrong + source[found.end() :]
        for source in sources
        for found in COMMENT.finditer(source)
    ]
    assert len(broken) > 200
    asked = [text.decode() for text in (*map(without_comments, sources), *broken)]
    command = ["node", "--experimental-vm-modules", "--input-type=module", "-e", PARSES]
    done = subprocess.run(
        command, input=json.dumps(asked), check=True, capture_output=True, text=True, timeout=60
    )
    assert json.loads(done.stdout) == [True] * len(sources) + [False] * len(broken)


def test_the_headers_let_nothing_else_in(talk: Talk) -> None:
    for path in ("/", "/operator", "/worker.js", "/icon.svg"):
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
    path = next(each for each in read_page(WEB) if each.endswith("/js/app.js"))
    first = talk.ask("GET", path)
    again = talk.ask("GET", path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    head = talk.ask("HEAD", path)
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
    found = add_page_routes(router, tmp_path)
    assert {re.sub(r"^/[0-9a-f]{16}/", "/", path) for path in found} == {"/", "/js/app.js"}
    assert {route.path for route in router.routes} == found  # type: ignore[attr-defined]


def test_the_rate_limit_leaves_the_page_alone(tmp_path: Path) -> None:
    random_release(20, 2).save(tmp_path / "r")
    few = Settings(tmp_path / "r", per_address=Rate(1, 3))
    with running(few) as talk:
        assert {talk.ask("GET", "/worker.js").status for _ in range(20)} == {200}
        assert [talk.ask("GET", "/v1").status for _ in range(4)] == [200, 200, 200, 429]
        assert talk.ask("GET", "/").status == 200


def test_a_checkout_serves_its_own_folder() -> None:
    assert find_page() == WEB
