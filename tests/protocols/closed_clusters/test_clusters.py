"""Clusters are the equal hash values: at once, as people join and leave, with liars among them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.protocols.closed_clusters.messages import TAG_BYTES
from discreet.protocols.closed_clusters.server import Matching, group
from protocols.closed_clusters._making import System, partition, some_values


@pytest.mark.parametrize("memory", [1, 4096, 1 << 20])
def test_two_people_are_together_if_and_only_if_their_values_are_equal(
    tmp_path: Path, memory: int
) -> None:
    system = System(tmp_path, 24)
    values = some_values(24, 5)
    uploads = system.uploads(values)
    np.random.default_rng(2).shuffle(uploads)
    found = system.clusters(uploads, memory)
    assert found.labels.tolist() == partition(values)
    assert found.contradictions == 0
    assert found.report()["people"] == 24 and found.report()["clusters"] == 5


@pytest.mark.parametrize("bits", [1, 16])
def test_the_shortest_and_the_longest_hash(tmp_path: Path, bits: int) -> None:
    system = System(tmp_path, 6)
    system.authority.begin_epoch(bytes(32), bits)
    top = (1 << bits) - 1
    values = [0, top, top, 0, top, 0]
    assert system.clusters(system.uploads(values)).labels.tolist() == partition(values)
    system.authority.begin_epoch(bytes(32), bits)
    with pytest.raises(InputError, match=f"hash value of {bits} bits"):
        system.upload(0, top + 1)


def test_tags_are_dropped_once_both_sides_came(tmp_path: Path) -> None:
    system = System(tmp_path, 12)
    uploads = system.uploads([3] * 12)
    with system.matching(memory=1) as matching:
        waiting = []
        for upload in uploads:
            matching.add([upload])
            waiting.append(matching.waiting_bytes)
        assert waiting[-1] == 0
        # After a of n came, only their tags for the other n - a wait; a file may be twice as large.
        for came, kept in enumerate(waiting, 1):
            assert TAG_BYTES * came * (12 - came) <= kept <= 2 * TAG_BYTES * came * (12 - came)


def test_tags_wait_where_they_are_told_to_and_only_if_they_have_to(tmp_path: Path) -> None:
    system = System(tmp_path, 3)
    folder, private = tmp_path / "waiting", system.server.private_bytes_raw()
    folder.mkdir()
    uploads = system.uploads([1, 1, 2])
    with Matching(system.collection, system.directory, private, folder) as matching:
        matching.check(uploads[0])
        assert list(folder.iterdir()) == []
        matching.add(uploads[:1])
        assert [path.name for path in folder.rglob("*.tags")] == ["0.tags"]
    assert list(folder.iterdir()) == []
    with Matching(system.collection, system.directory, private, folder) as matching:
        matching.add(uploads)
        assert list(folder.iterdir()) == []


def test_people_join_and_everybody_else_adds_one_tag_when_they_come_back(tmp_path: Path) -> None:
    system = System(tmp_path, 8)
    values = [1, 2, 1, 2, 1, 2, 1, 9]
    with system.matching() as matching:
        matching.add(system.uploads(values))
        system.join(2)
        matching.update(system.directory)
        late = [system.upload(8, 2), system.upload(9, 77)]
        assert [len(upload) for upload in late] == [10, 10]
        matching.add(late)
        assert matching.clusters().labels.tolist() == [0, 1, 0, 1, 0, 1, 0, 2, 3, 4]
        back = system.upload(3, 2)
        assert (back.first, len(back)) == (8, 2)
        matching.add([back])
        assert matching.clusters().labels.tolist() == [0, 1, 0, 1, 0, 1, 0, 2, 1, 3]
        matching.add([system.upload(member, values[member]) for member in (0, 1, 2, 4, 5, 6, 7)])
        found = matching.clusters()
        assert found.labels.tolist() == [0, 1, 0, 1, 0, 1, 0, 2, 1, 3]
        assert found.contradictions == 0 and matching.waiting_bytes == 0


def test_in_whatever_order_people_come_back_clusters_are_what_is_linked(tmp_path: Path) -> None:
    system = System(tmp_path, 6)
    random = np.random.default_rng(5)
    values = [1, 1, 2, 1, 2, 2, 1, 2, 1, 1]
    first = system.uploads(values[:6])
    system.join(2)
    second = [system.upload(6, values[6]), system.upload(7, values[7])]
    some = [system.upload(member, values[member]) for member in (0, 4)]
    system.join(2)
    third = [system.upload(8, values[8]), system.upload(9, values[9]), system.upload(4, 2)]
    expected = None
    for _ in range(10):
        with system.matching(memory=int(random.integers(1, 2000))) as matching:
            waves = [first, second + some, third]
            for wave in waves:
                order = random.permutation(len(wave))
                ready = sorted((wave[i] for i in order), key=lambda upload: upload.first)
                matching.add(ready)
            found = matching.clusters().labels.tolist()
        expected = expected or found
        assert found == expected
    # 6 came back into the sight of 0; 8 and 9 only of each other: nobody with value 1 came back.
    assert expected == [0, 0, 1, 0, 1, 1, 0, 1, 2, 2]


def test_who_leaves_is_in_no_cluster_and_their_tags_are_dropped(tmp_path: Path) -> None:
    system = System(tmp_path, 6)
    values = [1, 1, 2, 1, 2, 2]
    uploads = system.uploads(values)
    with system.matching() as matching:
        matching.add(uploads[:4])
        before = matching.waiting_bytes
        system.authority.change(leave=(0, 4))
        matching.update(system.directory)
        assert matching.waiting_bytes == before * 3 // 4 // 2
        with pytest.raises(InputError, match="the sender's slot is empty"):
            matching.add([uploads[4]])
        matching.add([uploads[5]])
        assert matching.clusters().labels.tolist() == [-1, 0, 1, 0, -1, 1]
    system.join(1)
    late = system.upload(6, 2).words()
    assert [bool(tag.any()) for tag in late] == [False, True, True, True, False, True, False]


def test_an_epoch_closes_the_gaps_and_a_leaver_may_come_back(tmp_path: Path) -> None:
    system = System(tmp_path, 4)
    key = system.clients[1].public_key
    system.authority.change(leave=(1,))
    with pytest.raises(InputError, match="slot 4 is listed already"):
        system.authority.change(join=key)
    with pytest.raises(InputError, match="slot 1 is empty"):
        system.authority.change(leave=(1,))
    assert system.authority.begin_epoch(bytes(32), 8).slots == 3
    assert system.authority.change(join=key).slot_of(key) == 3


def _pairs_of(answers: list[dict[int, int]]) -> np.ndarray:
    """Who agrees, if person i tells person j the value answers[i][j], or answers[i][-1]."""
    size = len(answers)

    def told(i: int, j: int) -> int:
        return answers[i].get(j, answers[i].get(-1, 0))

    found = [(i, j) for i, j in combinations(range(size), 2) if told(i, j) == told(j, i)]
    return np.array(found, np.int32).reshape(-1, 2)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("liars", [1, 2, 3])
def test_a_liar_who_agrees_with_everybody_glues_nothing_together(place: str, liars: int) -> None:
    honest = [1, 2] * 8
    at = {"first": 0, "middle": 8, "last": 16}[place]
    values = honest[:at] + [-1] * liars + honest[at:]
    answers = [{-1: value} if value > 0 else dict(enumerate(values)) for value in values]
    found = group(_pairs_of(answers), np.full(len(values), len(values)))
    labels = found.labels
    ones = {int(labels[i]) for i, value in enumerate(values) if value == 1}
    twos = {int(labels[i]) for i, value in enumerate(values) if value == 2}
    assert len(ones) == len(twos) == 1 and ones != twos
    assert found.contradictions > 0


def test_a_liar_who_agrees_with_half_a_cluster_does_not_split_it() -> None:
    values = [-1] + [1] * 12
    answers = [{-1: value} for value in values]
    answers[0] = {j: 1 if j <= 6 else 5 for j in range(1, 13)}
    found = group(_pairs_of(answers), np.full(13, 13))
    assert len(set(found.labels[1:].tolist())) == 1
    assert found.contradictions == 6


def test_whoever_lies_few_honest_people_of_two_values_are_together() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        liars = int(random.integers(1, 6))
        values = np.append(random.integers(1, 4, 40), np.full(liars, -1))
        random.shuffle(values)
        answers = [
            {-1: int(value)}
            if value > 0
            else {j: int(random.choice([v, 9])) for j, v in enumerate(values)}
            for value in values
        ]
        labels = group(_pairs_of(answers), np.full(len(values), len(values))).labels
        for label in set(labels.tolist()):
            inside = values[labels == label]
            honest = np.sort(np.bincount(inside[inside > 0], minlength=4))
            among = int((inside < 0).sum())
            assert honest[-2] == 0 or 2 * honest[-2] < among - 1


def test_nobody_makes_no_clusters() -> None:
    found = group(np.empty((0, 2), np.int32), np.zeros(3, np.int64))
    assert found.labels.tolist() == [-1] * 3 and found.report()["clusters"] == 0
