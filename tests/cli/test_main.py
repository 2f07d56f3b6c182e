"""The command line as a whole: its errors, its words, and how it is interrupted."""

from __future__ import annotations

import ast
import inspect
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import discreet
from cli._calling import call, call_alone, run_python
from discreet.cli._app import app, as_option
from discreet.cli._inputs import ReadingOptions
from discreet.domain import Hint, Scale
from discreet.ratings import read_ratings
from discreet.release import Release

SOURCE = Path(discreet.__file__).parent


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("fit",), "missing argument 'ratings'; see discreet fit --help"),
        (("fit", "r.csv", "--bogus", "3"), "no such option: --bogus"),
        (("fit", "r.csv", "-o", "m", "--epsilon", "much"), "'--epsilon': write a number;"),
        (("serve", "m", "--port", "x"), "'--port': write a whole number;"),
        (("evaluate", "r.csv", "--split", "halves"), "'leave-out'"),
        (("frobnicate",), "no such command 'frobnicate'; see discreet --help"),
        (("recomend", "m"), "no such command 'recomend'. Did you mean 'recommend'? See discreet"),
        (("ledger", "init", "a", "--population", "p"), "Choose from: rating, user,"),
        (("ledger", "inti", "a"), "Did you mean 'init'? See discreet ledger --help"),
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


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
from discreet.cli import main

sys.argv = ["discreet", "--help"]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    said = run_python("-c", code)
    assert said.code == 0 and "choose-epsilon" in said.out
    loaded = {name.split(".")[0] for name in said.err.split()}
    assert "typer" in loaded
    assert not loaded & {"numpy", "numba", "scipy", "polars", "pyarrow", "rich", "cryptography"}


def test_scipy_loads_where_a_command_of_its_own_process_needs_it(tmp_path: Path) -> None:
    # Its optimiser needs its linear algebra, which numba tries to load in the same process.
    made = tmp_path / "made.csv"
    size = ("--users", 60, "--items", 30, "--ratings", 600, "--seed", 1)
    said = call_alone("data", "make", "ml-1m", *size, "-o", made)
    assert said.code == 0 and made.exists(), said.err


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by its whole name."""
    waiting: list[tuple[str, Any]] = [("discreet", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        if hasattr(command, "list_commands"):
            children = command.list_commands(None)
            waiting += [(f"{name} {each}", command.get_command(None, each)) for each in children]


def test_every_command_and_option_has_help() -> None:
    found = dict(commands())
    assert {"discreet fit", "discreet ledger init"} <= found.keys()
    for name, command in found.items():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.name}"


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
        (RATINGS, ("--scale", "1..5/0.3"), "for a continuous scale give --scale 1..5/continuous"),
        (
            RATINGS,
            ("--scale", "1..5", "--catalog", "both.csv"),
            "say which, like --catalog-columns id=movieId",
        ),
        (RATINGS, (*TOLD, "--columns", "user=0"), "give it too, like --columns user=0,item=1"),
        ("user,item,kind\na,x,b\n", TOLD, "--columns rating=NAME (--implicit reads presence"),
        ("user,person,item,rating\na,b,x,3\n", TOLD, "say which, like --columns user=user"),
        ("user,item\na,x\n", TOLD, "(--implicit reads presence alone, without ratings)"),
        ("user,item,rating,time\na,x,3,\n", TOLD, "--columns time= leaves times out"),
        ('user,item,rating\na,"x,3\n', TOLD, "--quoting multiline; if quotes mean nothing in"),
        ("a\n", TOLD, "--separator '^'; if there is no header, count the columns, like --columns"),
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
    for name, advice in {"both.csv": "rename or remove one of them", "none.csv": "has foo"}.items():
        said = call("fit", "--no-ledger", "r.csv", "-o", "m", *TOLD, "--features", name).complaint()
        assert advice in said and "item=" not in said


def hints() -> Iterator[Hint]:
    """Every hint in the source, with some word or number for what is filled in."""
    names: dict[str, Any] = {"role": "user", "FROM_DATA": "from-data", "_FROM_DATA": "from-data"}
    names |= {"places": {"user": 0}, "max": lambda _: 0, "names": ["uid"], "self": Scale(1, 5)}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Hint":
                place = ast.fix_missing_locations(ast.Expression(node))
                scope = {"Hint": Hint, **names}
                if "places[0]" in ast.unparse(node):
                    scope["places"] = [0]
                yield eval(compile(place, str(path), "eval"), scope)


def test_every_hint_is_an_argument_and_an_option() -> None:
    """What it spells is what it means, in Python and as an option of `discreet fit`."""
    found = list(hints())
    assert len(found) > 10
    commands: Any = typer.main.get_command(app)
    fit = commands.get_command(None, "fit")
    for hint in found:
        assert eval(f"dict({hint})") == {hint.argument: hint.value}
        with fit.make_context("fit", ["r", "-o", "m", *shlex.split(as_option(hint))]) as context:
            given = context.params[hint.argument]
        match hint.argument:
            case "columns":
                assert ReadingOptions(columns=given).parsed_columns == hint.value
            case "catalog_columns":
                assert ReadingOptions(catalog_columns=given).parsed_catalog_columns == hint.value
            case "scale":
                limits: Any = hint.value
                assert Scale.parse(given) == Scale(*limits)
            case _:
                assert given == hint.value
    for argument in {hint.argument for hint in found}:
        takers = (read_ratings, Release.save)
        assert any(argument in inspect.signature(taker).parameters for taker in takers)


def test_who_stops_reading_ends_it_with_a_code_of_its_own() -> None:
    """1 is what `discreet audit` says of a refuted claim."""
    code = f"{sys.executable} -m discreet audit --list | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("141\n", "")
