"""Every tutorial is carried out as it is written: its commands, its files and its Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli._calling import Outcome, call

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What tutorials call the service.
SERVER = "http://127.0.0.1:8000"
# The shortest line of sample output that is looked for: others are too easily found by chance.
LONG = 30


def blocks(name: str) -> list[tuple[str, str, str]]:
    """The fenced blocks of a tutorial: language, title and text."""
    return BLOCK.findall((TUTORIALS / name).read_text(encoding="utf-8"))


def steps(text: str) -> Iterator[tuple[str, int, str]]:
    """The commands of a console block, each with its exit code and what it is said to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        command, _, note = line.partition("  # ")
        code = re.search(r"exit code (\d+)", note)
        yield command, int(code.group(1)) if code else 0, output


def told(output: str) -> list[str]:
    """Lines of sample output that hold whatever the noise: those without a figure."""
    lines = (" ".join(line.split()) for line in output.splitlines())
    return [line for line in lines if len(line) >= LONG and not re.search(r"\d", line)]


def carry_out(
    name: str, server: str = SERVER, run: Callable[..., Outcome] = call
) -> dict[str, Any]:
    """Do what a tutorial says in the current folder; returns what its Python has defined."""
    defined: dict[str, Any] = {}
    for language, title, written in blocks(name):
        text = written.replace(SERVER, server)
        if language == "console":
            for command, code, output in steps(text):
                words = shlex.split(command)
                assert words[0] == "discreet", command
                done = run(*words[1:])
                assert done.code == code, (command, done)
                said = " ".join((done.out + done.err).split())
                assert [line for line in told(output) if line not in said] == [], command
        elif language == "python":
            exec(compile(text, name, "exec"), defined)
        elif title:
            Path(title).write_text(text, encoding="utf-8")
    return defined


@pytest.mark.parametrize("name", ["first-list.md", "clicks.md"])
def test_a_tutorial(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(carry_out(name)["model"].catalog) == 200


def test_the_tutorial_of_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    from discreet.domain import Scale
    from discreet.protocols.servers import find
    from discreet.ratings import read_catalog
    from discreet.serve import Rate, Settings
    from serve._running import TOKEN, running

    monkeypatch.chdir(tmp_path)
    shell = [text for language, _, text in blocks("reports.md") if language == "sh"]
    terms = dict(re.findall(r"--term (\w+)=(\S+)", shell[0]))
    (first,) = [text for language, _, text in blocks("reports.md") if "data make" in text]
    ((command, _, _),) = steps(first)
    assert call(*shlex.split(command)[1:]).code == 0
    protocol = find("local-reports").from_terms(
        read_catalog("people.items.csv"), Scale.parse("1..5"), terms
    )
    free = Rate.a_minute(0)
    settings = Settings(
        tmp_path / "films.discreet", protocol, str(tmp_path / "reports.db"), TOKEN,
        per_address=free, enrolments=free,
    )  # fmt: skip
    with running(settings) as talk:

        def run(*words: object) -> Outcome:
            if words[:2] == ("client", "recommend"):
                # What the tutorial does with curl just before.
                assert talk.rebuild()["state"] == "built"
            return call(*words)

        defined = carry_out("reports.md", talk.url, run)
    assert len(defined["people"]) == 120


def test_every_tutorial_is_carried_out() -> None:
    assert {path.name for path in TUTORIALS.glob("*.md")} == {
        "first-list.md", "clicks.md", "reports.md",
    }  # fmt: skip
