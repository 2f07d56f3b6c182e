"""The card says what the release says, and a hub can read its head."""

from __future__ import annotations

from pathlib import Path

import yaml

from cli._calling import call
from discreet.adapters.model_card import model_card
from discreet.release import Release
from release._making import FIVE_STARS, random_release, spent


def test_the_head_is_yaml_and_the_body_has_the_guarantee(tmp_path: Path) -> None:
    release = random_release(guarantee=spent())
    card = model_card(release, title='Films: "the best"\n# of 2026', licence="apache-2.0")
    _, head, body = card.split("---\n", 2)
    told = yaml.safe_load(head)
    assert told["license"] == "apache-2.0" and "differential-privacy" in told["tags"]
    # A promise is never rounded down.
    assert told["dp_epsilon"] == release.guarantee.epsilon
    assert told["dp_delta"] == release.guarantee.delta
    assert '# Films: "the best" # of 2026\n' in body
    for line in str(release.guarantee).splitlines():
        assert line in body
    assert FIVE_STARS.spelling in body and release.digest()[:16] in body


def test_without_noise_it_says_so() -> None:
    card = model_card(random_release(), title="Films")
    assert "differential-privacy" not in card and "Not private" in card


def test_the_command_writes_it_once(by_ratings: Release, tmp_path: Path) -> None:
    by_ratings.save(tmp_path / "films.discreet")
    told = ("export", tmp_path / "films.discreet", "--card", tmp_path / "README.md")
    assert call(*told).code == 0
    assert "# films\n" in (tmp_path / "README.md").read_text()
    assert "exists" in call(*told).complaint()
    assert call(*told, "--overwrite", "--title", "Films").code == 0
    assert "name what to write" in call("export", tmp_path / "films.discreet").complaint()
