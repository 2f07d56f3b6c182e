"""What those who sign have to state, as far as a release says it: for NIST SP 800-226 and the GDPR.

NIST SP 800-226 (2025) lists what decides how much a claim of differential privacy is worth; Article
35(7) of the GDPR lists what an impact assessment contains. Each topic has what the release itself
shows. What only its curator knows is left blank, and marked.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.domain import CatalogOrigin
from discreet.privacy import Guarantee, Unit
from discreet.privacy.ledger import Ledger
from discreet.release import Release
from discreet.report._odds import best_guess, number_up, percent_up

NIST = "What NIST SP 800-226 asks to state"
GDPR = "For a data protection impact assessment (GDPR, Article 35)"
BLANK = "To fill in"


@dataclass(frozen=True)
class Item:
    """One topic.

    Attributes:
        topic: What has to be stated.
        says: What the release shows; empty if nothing.
        blank: What the curator has to add; empty if nothing.
    """

    topic: str
    says: str = ""
    blank: str = ""

    @property
    def text(self) -> str:
        """Both, with what is blank marked."""
        marked = f"{BLANK}: {self.blank}" if self.blank else ""
        return " ".join(part for part in (self.says, marked) if part)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"topic": self.topic, "says": self.says or None, "to_fill_in": self.blank or None}


def statements(release: Release, ledger: Ledger | None = None) -> Mapping[str, list[Item]]:
    """The topics of both lists, by the list's title.

    Args:
        release: What they are about.
        ledger: Of the same people, if there is one.
    """
    return {NIST: _nist(release, ledger), GDPR: _gdpr(release)}


def _nist(release: Release, ledger: Ledger | None) -> list[Item]:
    return [
        Item("unit of privacy", unit_in_words(release.guarantee)),
        Item("privacy parameters", parameters_in_words(release.guarantee)),
        Item("mechanisms", mechanisms_in_words(release.guarantee)),
        Item("composition", composition_in_words(release, ledger)),
        Item("trust model", trust_in_words(release)),
        Item("implementation", implementation_in_words(release)),
        Item(
            "side channels",
            "How long a fit takes, how much memory it needs and whether it fails are not "
            "protected. A release is computed in advance, so readers of the file cannot measure "
            "any of these.",
            "who can observe the machine that makes the release.",
        ),
        Item(
            "exposure during data collection",
            _collection(release),
            "who can read the ratings before a release is made, and how they are stored and sent.",
        ),
        Item("utility", " ".join(release.learnt.sentences())),
        Item(
            "bias across groups",
            "Noise is the same for every item, so items that few people rate, and the tastes of "
            "small groups, are lost first: people with rare tastes get lists closer to what is "
            "popular.",
            "how well lists serve the groups that matter to you; discreet evaluate shows people "
            "with few ratings separately, for your eyes only.",
        ),
    ]


def _gdpr(release: Release) -> list[Item]:
    kind = "that a person has an item" if release.scale.presence else "a person's rating of an item"
    times = any("by period" in event.label for event in release.guarantee.events)
    when = ", with its time" if times else ""
    return [
        Item(
            "categories of data",
            f"Each record says {kind}{when}. What people watch, read or buy can reveal health, "
            "beliefs or sexual orientation, which Article 9 names.",
            "whose data, how many people, and whether children are among them.",
        ),
        Item("purposes", "Recommendations.", "the purposes in full, and the legal basis."),
        Item(
            "necessity and proportionality",
            "Only noisy sums over everybody leave the private side; recommendations are computed "
            "from the release and a person's own ratings, on that person's device.",
            "why less data, or none, would not be enough.",
        ),
        Item(
            "retention",
            "The release contains no personal record and does not expire. A ledger keeps totals, "
            "purposes and times, and nobody's ratings.",
            "how long the ratings themselves are kept.",
        ),
        Item(
            "erasure after a release",
            "What was published cannot be taken back. Ratings that are erased are not used in any "
            "later release; what earlier releases reveal about them stays within the bounds above.",
            "how erasure requests reach the ratings before the next release.",
        ),
        Item("residual risk", risk_in_words(release.guarantee)),
        Item(
            "measures",
            _measures(release.guarantee),
            "access control, backups, logging, training.",
        ),
        Item(
            "consultation",
            "",
            "the advice of the data protection officer, and the views of the people concerned.",
        ),
    ]


def unit_in_words(guarantee: Guarantee) -> str:
    """What two neighbouring data sets differ in."""
    if not guarantee.is_private:
        return "None: there is no guarantee."
    said = {
        Unit.RATING: "One rating: data sets are neighbours if they differ by one rating. A "
        "person's ratings together are not protected as a unit.",
        Unit.USER: "One user with all their ratings: data sets are neighbours if they differ by "
        "one user.",
    }
    unit = guarantee.unit
    return said.get(
        unit,
        f"One user's ratings of one {unit.period}: neighbouring data sets differ by these.",
    )


def parameters_in_words(guarantee: Guarantee) -> str:
    """Epsilon and delta, for the unit and for a person."""
    if not guarantee.is_private:
        return f"None: {'; '.join(guarantee.not_private)}."
    said = f"Epsilon {number_up(guarantee.epsilon)}, delta {number_up(guarantee.delta)}"
    if guarantee.unit is Unit.USER:
        return f"{said}, for a person."
    person = guarantee.per(Unit.USER)
    bound = "there is no bound" if person is None else f"epsilon {number_up(person)}"
    return f"{said}, per {guarantee.unit}; for a person's ratings together, {bound}."


def mechanisms_in_words(guarantee: Guarantee) -> str:
    """The kinds of noise, and what they were added to."""
    kinds: dict[str, list[str]] = {}
    for event in guarantee.events:
        kinds.setdefault(event.kind, []).append(event.label)
    parts = [f"{kind} noise on {', '.join(dict.fromkeys(of))}" for kind, of in kinds.items()]
    return f"{'; '.join(parts)}. All sums are integers." if parts else "None."


def composition_in_words(release: Release, ledger: Ledger | None) -> str:
    """How this release's costs add up, and with others'."""
    said = (
        "Gaussian costs add up exactly, as squares of mu (Gaussian differential privacy); pure "
        "costs add up as epsilons."
    )
    if ledger is not None:
        charges = len(ledger.history())
        count = f"{charges:,} charge{'s' * (charges != 1)}"
        return f"{said} The ledger of '{ledger.population}' has {count}."
    provenance = release.guarantee.provenance
    if provenance is None or provenance.charge is None:
        return f"{said} No ledger records this release, so nothing limits what others add to it."
    return f"{said} The ledger of '{provenance.charge.population}' limits all releases together."


def trust_in_words(release: Release) -> str:
    """Who is trusted with true ratings."""
    made = made_by(release)
    said = f"The release was made {made.value}."
    if made is Made.CURATOR:
        return f"{said} People trust the curator with their ratings; readers are not trusted."
    if made is Made.LOCAL:
        return f"{said} Nobody but a person's own device sees true ratings."
    return f"{said} This is deniability, not differential privacy."


def implementation_in_words(release: Release) -> str:
    """What is done against known faults of implementations."""
    provenance = release.guarantee.provenance
    version = "an unstated version" if provenance is None else f"version {provenance.version}"
    return (
        f"discreet, {version}, open source. Noise is drawn exactly, as integers on integers, so "
        "floating-point arithmetic cannot leak. Every bound has a proof beside the code. Audits "
        "search for violations and are themselves tested with planted bugs."
    )


def risk_in_words(guarantee: Guarantee) -> str:
    """What an attacker can still find out about a person."""
    if not guarantee.is_private:
        return "Unbounded: there is no guarantee."
    epsilon = guarantee.per(Unit.USER)
    if epsilon is None or math.isinf(epsilon):
        return (
            "For single ratings, as stated above; nothing limits what can be found out about a "
            "person's ratings together."
        )
    right = percent_up(best_guess(epsilon, guarantee.delta))
    return (
        "An attacker who knows everything else and guesses whether a person is in the data is "
        f"right at most {right} of the time; chance alone is right 50 % of the time. What is true "
        "of people in general can be learnt, and applied to anybody."
    )


def _measures(guarantee: Guarantee) -> str:
    if not guarantee.is_private:
        return "None that limits what can be found out."
    said = (
        "Differential privacy with the parameters above; noise from the operating system's "
        "cryptographic source."
    )
    provenance = guarantee.provenance
    if provenance is None or provenance.charge is None:
        return said
    return f"{said} A ledger refuses releases that exceed its limits."


def _collection(release: Release) -> str:
    if made_by(release) is Made.LOCAL:
        return "Reports are randomised before they leave people's devices."
    if made_by(release) is not Made.CURATOR:
        return "Uploads contain true ratings among fake ones, and the server keeps them."
    origin = release.catalog.origin
    listed = ""
    if origin is CatalogOrigin.FROM_DATA:
        listed = (
            " The list of items was read from the ratings and shows which items were rated at all."
        )
    return f"True ratings are collected; the guarantee begins where the release is made.{listed}"


class Made(enum.Enum):
    """How a release was made."""

    CURATOR = "by a curator who holds the true ratings"
    LOCAL = "by a server from reports that were randomised on people's own devices"
    OPEN = "by a server from uploads that mix true ratings with fake ones"
    CLOSED = "by a server from such uploads, of members whose tags do not show their hash values"


def made_by(release: Release) -> Made:
    """How a release was made."""
    if release.method == "open-clusters":
        return Made.OPEN
    if release.method == "closed-clusters":
        return Made.CLOSED
    if "local_reports" in release.parameters:
        return Made.LOCAL
    return Made.CURATOR
