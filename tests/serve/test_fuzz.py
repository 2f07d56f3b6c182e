"""Every parser of foreign bytes, fuzzed for a moment; `python -m fuzz` goes on for longer."""

from __future__ import annotations

import pytest
from fuzz._fuzzer import fuzz
from fuzz.targets import TARGETS, Target

# Inputs, of which files take longer.
_TRIES = {"messages": 800, "terms": 800, "directory": 800, "catalogue": 6}
_FILE_TRIES = 25


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_refuses_and_never_breaks(name: str) -> None:
    found = fuzz(TARGETS[name], seed=3, tries=_TRIES.get(name, _FILE_TRIES))
    assert not found.crashes
    assert found.reached


def test_the_fuzzer_finds_what_is_behind_a_few_branches() -> None:
    from discreet.protocols.common import Fields

    def broken(content: bytes) -> None:
        kind = Fields({"a": content.decode("latin-1")[:3]}, "x", ("a",)).text("a")
        assert kind != "{ab"

    found = fuzz(Target(broken, lambda: [b"zab"]), seed=1, tries=3000)
    assert next(iter(found.crashes.values()))[:3] == b"{ab"
