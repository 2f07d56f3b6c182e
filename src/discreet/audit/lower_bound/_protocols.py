"""Messages of the protocols, from their real clients: what leaves a person's hands."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.audit._neighbours import STARS, catalog_of
from discreet.audit._registry import Entry, register
from discreet.audit._tags import our_tags
from discreet.audit.lower_bound._engine import Auditable, Claim, Floats, Ints, Subject
from discreet.audit.lower_bound._mechanisms import laplace_ratio
from discreet.domain import OwnRatings
from discreet.privacy import Randomness
from discreet.protocols.local_reports.client import LocalClient, draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.protocols.local_reports.server import AnswerLaw
from discreet.protocols.open_clusters.client import OpenClient
from discreet.protocols.open_clusters.messages import Collection as OpenCollection

PROTOCOLS: dict[str, Entry[Auditable]] = {}

# Relative: far above floating point error in a movement, far below any bug.
_ROUNDING = 1e-9
# Of one answer in a local report.
_EPSILON = 1.0
# Stands for "no answer": far below every answer that noise can give.
NOTHING = -(10**6)
# Items of a catalogue whose reports are audited as a whole.
_FEW_ITEMS = 8
# A report on many items is many runs, because its answers are drawn independently; whole reports
# and whole messages are slower.
_REPORT_RUNS, _WHOLE_RUNS = 20_000, 2000
# Runs of hash bits, of whole hashes and of tags; the client writes a file for each message.
_BITS_RUNS, _HASH_RUNS, _TAG_RUNS = 3200, 1000, 4000
# Bits of an audited hash, and epsilon of a bit in thousandths: bit by bit, and as a whole.
_BITS, _BIT_EPSILON = 16, 1000
_FEW_BITS, _FEW_BITS_EPSILON = 4, 500


# Local reports: answers of a client about items that are all rated alike.


def _collection(mechanism: Mechanism, items: int, epoch: int = 1) -> Collection:
    return Collection(catalog_of(items), STARS, mechanism, _EPSILON, epoch)


def _own(count: int, value: float) -> OwnRatings:
    """The same rating for each of the first items."""
    return OwnRatings(np.arange(count, dtype=np.int32), np.full(count, value))


def answers(report: Report, size: int) -> Ints:
    """The integer beside each item, or `NOTHING` where there is none."""
    found = np.full(size, NOTHING, np.int64)
    found[report.items] = report.values
    return found


def _ratios(collection: Collection, said: Ints, change: str) -> Floats:
    """The log likelihood ratio of each answer, of a 5 against what `change` says."""
    if collection.mechanism is Mechanism.MODIFIED_LAPLACE:
        return laplace_ratio(collection.laplace, said, said != NOTHING, change)
    other = NOTHING if change == "presence" else 1
    return np.asarray((said == collection.answers).astype(np.float64) - (said == other))


@register(
    PROTOCOLS, "local-reports/{mechanism}/{change}", "the answer about one item; a 5 or no rating",
    mechanism=Mechanism, change=["presence"],
)  # fmt: skip
@register(
    PROTOCOLS, "local-reports/{mechanism}/{change}", "the answer about one item; a 5 or a 1",
    mechanism=Mechanism, change=["value"],
)  # fmt: skip
def _one_answer(name: str, about: str, mechanism: Mechanism, change: str) -> Subject:
    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        collection = _collection(mechanism, runs)
        rated = runs if world == 0 or change == "value" else 0
        own = _own(rated, 5.0 if world == 0 else 1.0)
        return _ratios(collection, answers(draw_report(collection, own, randomness), runs), change)

    claim = Claim.of([_collection(mechanism, 1).event])
    return Subject(name, about, claim, draw, _REPORT_RUNS)


@register(
    PROTOCOLS, "local-reports/{mechanism}/whole", "a whole report; one rating more",
    mechanism=Mechanism,
)  # fmt: skip
def _whole_report(name: str, about: str, mechanism: Mechanism) -> Subject:
    """All answers of a small catalogue together, and how many there are."""
    collection = _collection(mechanism, _FEW_ITEMS)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        own = _own(3 if world == 0 else 2, 5.0)
        drawn = (draw_report(collection, own, randomness) for _ in range(runs))
        said = np.array([answers(each, _FEW_ITEMS) for each in drawn])
        shown = said != NOTHING
        cut = np.where(shown, np.clip(said, collection.least, collection.reach), 0)
        return np.hstack([shown, cut, shown.sum(axis=1, keepdims=True)]).astype(np.float64)

    return Subject(name, about, Claim.of([collection.event]), draw, _WHOLE_RUNS)


Reporting = Callable[[Collection, Path, list[OwnRatings], Randomness], list[Report]]
"""Reports that a client sends as its ratings change, its memory in a folder."""


def _report_all(
    collection: Collection, folder: Path, history: list[OwnRatings], randomness: Randomness
) -> list[Report]:
    """By the real client, begun anew each time."""
    state = folder / "client"
    return [LocalClient(collection, state, randomness=randomness).report(own) for own in history]


CHANGED = "two answers about one item in an epoch; between them its rating changes or stays"


@register(PROTOCOLS, "local-reports/{mechanism}/changed", CHANGED, mechanism=Mechanism)
def changed_rating(
    name: str, about: str, mechanism: Mechanism, reporting: Reporting = _report_all
) -> Subject:
    """Two reports in one epoch, from a client that `reporting` stands for."""

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        collection = _collection(mechanism, runs)
        history = [_own(runs, 1.0), _own(runs, 5.0 if world == 0 else 1.0)]
        with tempfile.TemporaryDirectory() as folder:
            sent = reporting(collection, Path(folder), history, randomness)
        first, second = (answers(report, runs) for report in sent)
        # An answer that changed outweighs everything that an answer itself can say.
        return np.asarray(_ratios(collection, second, "value") + 100.0 * (first != second))

    claim = Claim.of([_collection(mechanism, 1).event])
    return Subject(name, about, claim, draw, _REPORT_RUNS)


@register(
    PROTOCOLS, "local-reports/{mechanism}/epochs",
    "the answers about one item in two epochs; a 5 or a 1", mechanism=Mechanism,
)  # fmt: skip
def _epochs(name: str, about: str, mechanism: Mechanism) -> Subject:
    """New answers, and twice the epsilon."""

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        own, scores = _own(runs, 5.0 if world == 0 else 1.0), np.zeros(runs)
        with tempfile.TemporaryDirectory() as folder:
            for epoch in (1, 2):
                collection = _collection(mechanism, runs, epoch)
                (sent,) = _report_all(collection, Path(folder), [own], randomness)
                scores += _ratios(collection, answers(sent, runs), "value")
        return scores

    claim = Claim.of([_collection(mechanism, 1, epoch).event for epoch in (1, 2)])
    return Subject(name, about, claim, draw, _REPORT_RUNS)


BEYOND = "whether a liar's report moves an item's mean further than is said; or never"
# Ratings of an audited item beside the liar's report, at most.
_MOST_RATINGS = 50

Taking = Callable[[Collection, Ints], Ints]
"""The answers that a server takes from what a liar sends, on its grid."""


def _take(collection: Collection, values: Ints) -> Ints:
    """By the real server, from a message: what is out of range refuses it, and is left out."""
    inside = (values >= collection.least) & (values <= collection.largest)
    sent = Report.of(collection, np.arange(len(values)), np.where(inside, values, collection.least))
    return collection.centred(Report.from_json(sent.as_json(), collection).values).astype(np.int64)


@register(PROTOCOLS, "local-reports/{mechanism}/one-liar", BEYOND, mechanism=Mechanism)
def one_liar(name: str, about: str, mechanism: Mechanism, taking: Taking = _take) -> Subject:
    """Each item is a run: the worst answers, and others, on items of any mean and count.

    If the bound holds, world 0 is as world 1: nothing ever lies beyond it.
    """

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        collection = _collection(mechanism, runs)
        law, bound = AnswerLaw.of(collection), collection.influence
        half = collection.scale.range / 2
        uniform = randomness.words(4 * runs).reshape(4, runs) / 2.0**64
        ends = np.where(uniform[0] < 0.5, collection.least, collection.largest)
        wild = np.rint((6 * uniform[1] - 3) * collection.largest).astype(np.int64)
        answer = taking(collection, np.where(uniform[1] < 0.5, ends, wild))
        shown = uniform[0] * 7 % 1 < 0.9
        n = bound.below + 1 + _MOST_RATINGS * uniform[2]
        mean = np.clip(2.4 * half * (uniform[3] - 0.5), -half, half)
        total, count = law.slope * answer * shown, (shown - law.fake) / law.gap
        moved = np.abs((mean * n + total) / (n + count) - mean)
        most = bound.on_mean / (n - bound.below) * (1 + _ROUNDING)
        return np.asarray((moved > most) & (world == 0), np.float64)

    return Subject(name, about, Claim(0.0), draw, _REPORT_RUNS)


# Open clusters: hash values under randomized response.

# Ratings that hash bits are made of; nothing is special about them.
_HASHED = np.where(np.arange(40) * 7 % 11 < 5, 5.0, 1.0)

Sending = Callable[[OpenCollection, Floats, int, Randomness], Ints]
"""Hash bits that a number of clients send who all have the same ratings, a row a client."""


def open_collection(bits: int, bit_epsilon_thousandths: int) -> OpenCollection:
    """Terms for eighty items."""
    epsilon = bit_epsilon_thousandths
    return OpenCollection(catalog_of(80), STARS, bits=bits, bit_epsilon_thousandths=epsilon)


def _message_epsilon(collection: OpenCollection) -> float:
    event = collection.hash_event
    assert event is not None
    return event.epsilon


def true_hash(collection: OpenCollection, values: Floats) -> int:
    """Without noise."""
    items = np.arange(len(values), dtype=np.int32)
    return collection.cluster_hash.value(items, (values - 1).astype(np.uint8))


def _send_hashes(
    collection: OpenCollection, values: Floats, count: int, randomness: Randomness
) -> Ints:
    """By the real client."""
    own = OwnRatings(np.arange(len(values), dtype=np.int32), values)
    sent = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            state = Path(folder) / str(number)
            client = OpenClient(collection, state, hash_only=True, randomness=randomness)
            sent.append(client.report(own).hash)
    return np.asarray(np.array(sent)[:, None] >> np.arange(collection.bits) & 1)


@register(PROTOCOLS, "open-clusters/hash-bits", "one reported hash bit; any other person")
def _hash_bits(name: str, about: str) -> Subject:
    """Each of a message's bits is a run (PROOF.md).

    The two people rate the same items, one turned round: every bit differs.
    """
    collection = open_collection(_BITS, _BIT_EPSILON)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        own = 6 - _HASHED if world else _HASHED
        said = _send_hashes(collection, own, -(-runs // _BITS), randomness)
        true = true_hash(collection, _HASHED) >> np.arange(_BITS) & 1
        return np.asarray((said == true).ravel()[:runs], np.float64)

    return Subject(name, about, Claim(_message_epsilon(collection) / _BITS), draw, _BITS_RUNS)


@register(
    PROTOCOLS, "open-clusters/hash", "a whole reported hash; another person with half of its bits"
)
def whole_hash(name: str, about: str, sending: Sending = _send_hashes) -> Subject:
    """Every bit of a message, and of any two whether they are alike.

    Half of the bits differ between the two people. If all did, a client that turns all bits round
    by one coin would give neither away.
    """
    collection = open_collection(_FEW_BITS, _FEW_BITS_EPSILON)
    people = half_alike(collection)

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        said = sending(collection, people[world], runs, randomness)
        one, other = np.triu_indices(_FEW_BITS, 1)
        return np.hstack([said, said[:, one] == said[:, other]]).astype(np.float64)

    return Subject(name, about, Claim(_message_epsilon(collection)), draw, _HASH_RUNS)


def half_alike(collection: OpenCollection) -> tuple[Floats, Floats]:
    """Ratings of two people whose hashes have half of their bits in common."""
    tried = (np.where(np.arange(40) < turned, 6 - _HASHED, _HASHED) for turned in range(40))
    true, half = true_hash(collection, _HASHED), collection.bits // 2
    return _HASHED, next(
        each for each in tried if (true_hash(collection, each) ^ true).bit_count() == half
    )


# Closed clusters: tags about pairs of people.


@register(PROTOCOLS, "closed-clusters/tags", "two people's tags; hash values 1 apart or 100")
def _tags(name: str, about: str) -> Subject:
    """That hash values differ is public; by how much is not."""

    def draw(world: int, runs: int, randomness: Randomness) -> Floats:
        values = (5, 6 if world == 0 else 105)
        tags = np.empty((runs, 32), np.uint8)
        for run in range(runs):
            secrets = [randomness.words(4).tobytes() for _ in values]
            said = our_tags(values, [X25519PrivateKey.from_private_bytes(s) for s in secrets])
            tags[run] = np.concatenate([said[0, 1], said[1, 0]])
        return _relations(tags)

    return Subject(name, about, Claim(0.0), draw, _TAG_RUNS)


def _relations(tags: npt.NDArray[np.uint8]) -> Floats:
    """Numbers in which a relation between two tags of 16 bytes would show."""
    one, other = tags[:, :16], tags[:, 16:]
    bits = np.unpackbits(one ^ other, axis=1)
    apart = (one.astype(np.int64) - other) % 256
    counts = np.column_stack([bits.sum(axis=1), (one == other).sum(axis=1)])
    return np.hstack([one, other, apart, bits, counts]).astype(np.float64)
