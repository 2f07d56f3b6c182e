"""docs/audit.md: its example, and the tables, are what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli._calling import call
from discreet.audit.lower_bound import SUBJECTS, Finding, audit, matching
from discreet.audit.lower_bound.planted import PLANTED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
SLOW = ("pipeline", "one-run", "local-reports", "open-clusters", "closed-clusters")
"""Left to the command: minutes."""
NEAR = 0.03
"""What another draw of the noise may change."""


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def rows_with_names() -> list[tuple[list[str], list[str]]]:
    """Every row and its subjects: each counts in the first row that names it.

    A name in backticks is how others begin; what follows an ellipsis is in them too.
    """
    found, left = [], dict.fromkeys(SUBJECTS)
    for row in table("What is audited"):
        names: list[str] = []
        for start in re.findall(r"`([^`]+)`", row[0]):
            begin, _, part = start.partition("/…")
            names += [n for n in matching(begin, SUBJECTS) if n in left and f"{part}/" in f"{n}/"]
        left = {name: None for name in left if name not in names}
        found.append((row, names))
    assert not left, "every subject is in the table"
    return found


ROWS = rows_with_names()


def test_the_example_is_what_is_printed() -> None:
    block = PAGE.read_text(encoding="utf-8").split("```\n$ discreet ")[1].split("```")[0]
    command, head, *lines = block.splitlines()
    said = call(*command.split()).out.splitlines()
    assert said[0] == head
    for line, again in zip(lines, said[1:], strict=False):
        (name, claimed, delta, audited), told = line.split()[:4], again.split()
        assert told[:3] == [name, claimed, delta] and told[-2:] == line.split()[-2:]
        assert float(told[3]) == pytest.approx(float(audited), rel=NEAR)


def test_the_rows_count_every_subject_once() -> None:
    assert all(int(row[1]) == len(names) > 0 for row, names in ROWS)
    total = sum(len(names) for _, names in ROWS)
    assert total == len(SUBJECTS)
    assert f"Of {total} claims" in PAGE.read_text(encoding="utf-8")


def found_with_all(name: str) -> Finding:
    """As `discreet audit all --seed 1` finds it: each row has its part of the 5 %."""
    return audit(SUBJECTS[name](), confidence=1 - 0.05 / len(SUBJECTS), seed=1)


@pytest.mark.parametrize(
    ("row", "names"), [(row, names) for row, names in ROWS if not names[0].startswith(SLOW)]
)
def test_the_table_has_what_the_command_finds(row: list[str], names: list[str]) -> None:
    findings = [found_with_all(name) for name in names]
    shares = [each.reached for each in findings]
    least, most = (int(part) / 100 for part in row[3].removesuffix(" %").split(" to "))
    assert (min(shares), max(shares)) == pytest.approx((least, most), abs=NEAR)
    told = {f"{each.claim.epsilon:.3g}" for each in findings}
    assert told == {part.split(" at ")[0] for part in row[2].split(", ")}


def test_every_planted_bug_is_in_the_table_and_above_its_claim() -> None:
    rows = table("Planted bugs")
    assert sorted(row[0].strip("`") for row in rows) == sorted(PLANTED)
    for name, _, claimed, audited in rows:
        claim = PLANTED[name.strip("`")]().claim
        assert float(claimed.split(" at ")[0]) == pytest.approx(claim.epsilon, rel=0.01)
        assert float(audited) > claim.epsilon


@pytest.mark.parametrize("name", ["half-noise/laplace", "no-corner/weights", "paper-003/cosine"])
def test_a_planted_bug_is_found_as_the_table_says(name: str) -> None:
    found = audit(PLANTED[name](), confidence=1 - 0.05 / len(PLANTED), seed=1)
    (row,) = (row for row in table("Planted bugs") if row[0] == f"`{name}`")
    assert float(row[3]) == pytest.approx(found.epsilon, rel=NEAR)
