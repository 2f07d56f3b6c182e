"""The command line as a whole: its errors, its words, and how it is interrupted."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet
from cli._calling import call, call_alone, run_python
from discreet.cli import _wording

SOURCE = Path(discreet.__file__).parent
ARGUMENT = re.compile(r'\b[a-z_]+=(?=["({\[TFN])|\{"|read_\w+\(|\bNone\b')


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("fit",), "missing argument 'ratings'; see discreet fit --help"),
        (("fit", "r.csv", "--bogus", "3"), "no such option: --bogus"),
        (("fit", "r.csv", "-o", "m", "--epsilon", "much"), "'--epsilon'"),
        (("evaluate", "r.csv", "--split", "halves"), "'leave-out'"),
        (("frobnicate",), "no such command 'frobnicate'; see discreet --help"),
        (("ledger", "init", "a"), "see discreet ledger init --help"),
    ],
)
def test_wrong_options_are_a_line(arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in call(*arguments).complaint()


def test_without_a_command_there_is_help() -> None:
    said = call_alone()
    assert (said.code, said.out) == (2, "")
    assert "Usage: discreet" in said.err and "recommend" in said.err


def test_the_version_and_help_are_no_errors() -> None:
    assert call("--version").out == f"discreet {discreet.__version__}\n"
    assert (call("--version").code, call("fit", "--help").code) == (0, 0)


def test_an_interrupt_while_the_commands_load_is_a_line() -> None:
    code = """
import sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
from discreet.cli import main
main()
"""
    said = run_python("-c", code)
    assert (said.code, said.out) == (130, "")
    assert said.err == "discreet: interrupted; nothing was left half-written\n"


RATINGS = "user,item,rating\na,x,5\na,y,1\nb,x,4\n"
BOTH = "movieId,itemId,kind\n1,2,a\n"
TOLD = ("--scale", "1..5", "--catalog", "from-data")


@pytest.mark.parametrize(
    ("text", "options", "advice"),
    [
        (RATINGS, (), "like --scale 1..5 for whole stars or --scale 0.5..5/0.5 for half stars"),
        (RATINGS, ("--scale", "1..5"), "like --catalog items.csv. --catalog from-data reads it"),
        (RATINGS, ("--scale", "1..5/0.3"), "a continuous one is like -10..10/continuous"),
        (RATINGS, ("--scale", "1..5", "--catalog", "both.csv"), "the id; leave one of them out"),
        (RATINGS, (*TOLD, "--columns", "user=0"), "--columns lacks the position of the item, like"),
        ("user,item,kind\na,x,b\n", TOLD, "--columns rating=... (--implicit reads presence alone"),
        ("user,person,item,rating\na,b,x,3\n", TOLD, "the user; say which: --columns user=..."),
        ("user,item\na,x\n", TOLD, "(--implicit reads presence alone, without ratings)"),
    ],
)
def test_advice_is_given_in_options(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    options: tuple[str, ...],
    advice: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(text)
    Path("both.csv").write_text(BOTH)
    assert advice in call("data", "info", "r.csv", *options).complaint()


def test_advice_on_features_is_what_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text(RATINGS)
    Path("both.csv").write_text(BOTH)
    Path("none.csv").write_text("foo,bar\n1,2\n")
    for name, advice in {"both.csv": "; leave one of them out\n", "none.csv": "has foo"}.items():
        said = call("fit", "r.csv", "-o", "m", *TOLD, "--features", name).complaint()
        assert advice in said and "say which" not in said and "item=" not in said


def advices() -> Iterator[str]:
    """Every text of the readers that shows an argument, with some word for what is filled in."""
    for path in sorted((SOURCE / "ratings" / "readers").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = [node.args[0] for node in ast.walk(tree) if is_error(node)]
        for text in (part for each in raised for part in texts(each)):
            if ARGUMENT.search(text):
                yield text


def is_error(node: ast.AST) -> bool:
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return name.split(".")[-1] in {"InputError", "error"}


def texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else "user" for p in node.values)
        yield "".join(map(str, parts))


def test_nothing_that_the_readers_advise_stays_in_python() -> None:
    found = list(advices())
    assert len(found) > 5
    assert [text for text in map(_wording.in_options, found) if ARGUMENT.search(text)] == []


def test_who_stops_reading_ends_it_with_a_code_of_its_own() -> None:
    """1 is what `discreet audit` says of a refuted claim."""
    code = f"{sys.executable} -m discreet.cli audit --list | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("141\n", "")
