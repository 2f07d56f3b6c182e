"""What every protocol must do. A protocol's test is a class that inherits this and makes people.

class TestMine(ProtocolBattery):
    def town(self, folder: Path, epoch: int) -> Town: ...
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.predict import load
from discreet.protocols import clients, servers

SECRET = "secret-4567"
# What a hostile sender may put in place of any field; none of them is a field's right value.
HOSTILE: list[Any] = [
    None, True, -1, 2**70, 1e308, 4567.25, "", SECRET, f"{SECRET}\n", "A" * 10_000, "AAAA====",
    [], [SECRET], {}, {SECRET: SECRET},
]  # fmt: skip
PEOPLE = 12


@dataclass(frozen=True)
class Town:
    """A protocol's server, and what each of `PEOPLE` honest people sends it, as JSON."""

    protocol: servers.Protocol
    messages: list[dict[str, Any]]


def refuses(check: Callable[[Any], object], content: Any) -> None:
    """A refusal is one short line that repeats nothing of what was sent."""
    with pytest.raises(InputError) as caught:
        check(content)
    said = str(caught.value)
    assert 0 < len(said) < 300 and "\n" not in said
    assert "4567" not in said.replace(",", "")


class ProtocolBattery:
    """Inherit it, and give it a town."""

    def town(self, folder: Path, epoch: int) -> Town:
        """A server that collects for an epoch, 1 or 2, and honest people's messages.

        Everything else is the same in both, and is drawn from a seed where the protocol takes one.
        """
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def here(cls, tmp_path_factory: pytest.TempPathFactory) -> Town:
        return cls().town(tmp_path_factory.mktemp("town"), 1)

    def test_it_is_registered_on_both_sides_under_its_one_name(self, here: Town) -> None:
        name = here.protocol.name
        assert servers.find(name) is type(here.protocol)
        assert name in clients.NAMES
        assert here.protocol.announce()["protocol"] == name
        module = f"discreet.protocols.{name.replace('-', '_')}.server"
        assert type(here.protocol).__module__ == module

    def test_the_announcement_comes_back_from_an_order(self, here: Town) -> None:
        protocol = here.protocol
        again = servers.from_order(json.loads(json.dumps(protocol.order())))
        assert again.announce() == json.loads(json.dumps(protocol.announce()))
        assert (again.digest, again.largest) == (protocol.digest, protocol.largest)
        assert (again.catalog, again.scale) == (protocol.catalog, protocol.scale)
        again.check(here.messages[0])

    def test_honest_messages_are_taken_and_come_back_as_they_were(self, here: Town) -> None:
        for message in here.messages:
            sent = json.loads(json.dumps(message))
            assert len(json.dumps(sent)) <= here.protocol.largest
            here.protocol.check(sent)
            assert here.protocol.read(sent).as_json() == message

    @pytest.mark.parametrize("content", [None, 4567, SECRET, [SECRET], [], {}, {SECRET: 1}, b"x"])
    def test_what_is_not_a_message_is_refused(self, here: Town, content: Any) -> None:
        refuses(here.protocol.check, content)

    def test_a_wrong_missing_or_further_field_is_refused(self, here: Town) -> None:
        good = here.messages[0]
        refuses(here.protocol.check, good | {SECRET: SECRET})
        for name, value in good.items():
            refuses(here.protocol.check, {n: v for n, v in good.items() if n != name})
            for hostile in HOSTILE:
                if hostile != value or type(hostile) is not type(value):
                    refuses(here.protocol.check, good | {name: hostile})

    def test_damaged_arrays_are_refused_or_harmless(self, here: Town) -> None:
        good, rng = here.messages[0], np.random.default_rng(1)
        long = [name for name, value in good.items() if isinstance(value, str) and len(value) > 70]
        assert long
        for name in long:
            for _ in range(100):
                letters = list(good[name])
                letters[rng.integers(len(letters))] = "+/AZaz09=\0é"[rng.integers(11)]
                changed = good | {name: "".join(letters)}
                try:
                    here.protocol.check(changed)
                except InputError as error:
                    assert "\n" not in str(error)

    def test_a_message_of_another_epoch_is_refused(self, here: Town, tmp_path: Path) -> None:
        other = self.town(tmp_path, 2)
        assert other.protocol.digest != here.protocol.digest
        refuses(here.protocol.check, other.messages[0])
        refuses(other.protocol.check, here.messages[0])
        with pytest.raises(InputError):
            here.protocol.build([other.protocol.read(message) for message in other.messages])

    def test_a_release_carries_its_guarantee_and_predicts(self, here: Town, tmp_path: Path) -> None:
        release = self.built(here, tmp_path)
        guarantee = release.guarantee
        assert str(guarantee)
        assert guarantee.is_private or guarantee.not_private
        assert guarantee.is_private == np.isfinite(guarantee.epsilon)
        release.save(tmp_path / "made")
        model = load(tmp_path / "made").predictor()
        item = here.protocol.catalog.ids[0]
        predicted = model.predict({item: here.protocol.scale.hi})
        assert np.isfinite(predicted).all()
        assert [path.name for path in tmp_path.iterdir()] == ["made"]

    def test_the_order_of_messages_changes_nothing(self, here: Town, tmp_path: Path) -> None:
        one = self.built(here, tmp_path)
        other = self.built(Town(here.protocol, here.messages[::-1]), tmp_path)
        # Both are of integer sums; what is learnt from products may differ in its last digits.
        assert one.arrays["item_counts"].tobytes() == other.arrays["item_counts"].tobytes()
        assert one.arrays["item_effects"].tobytes() == other.arrays["item_effects"].tobytes()

    def test_nobody_makes_no_release(self, here: Town) -> None:
        refuses(here.protocol.build, [])

    def built(self, town: Town, folder: Path) -> Any:
        messages = (town.protocol.read(message) for message in town.messages)
        return town.protocol.build(messages, folder=folder)
