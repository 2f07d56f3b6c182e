"""The ideal adversary of a release: it knows every record but one, and sees all that came out.

Released were y_s = E_s + noise, each E_s a sum over people. With c_s(v) for the victim's own part
if the secret is v, the adversary, who knows everybody else, knows E_s for each v; they differ by
c_s(v) - c_s(v'). So it compares how likely each would have made what it sees.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.audit._likelihood import likelihood_ratio, touched
from discreet.audit._victims import Victims
from discreet.methods import Transcript

_Floats = npt.NDArray[np.float64]


def attack_release(transcript: Transcript, victims: Victims) -> _Floats:
    """For each victim and each possible secret, how likely the outputs are: its logarithm.

    But for something that is the same for all secrets.

    Args:
        transcript: Of a fit of the victims' ratings.
        victims: Who is attacked.
    """
    rows = [_likelihoods(transcript, victims, row) for row in range(len(victims))]
    return np.array(rows).reshape(len(victims), victims.options)


def _likelihoods(transcript: Transcript, victims: Victims, row: int) -> _Floats:
    """One version at a time: a person touches few entries of a large matrix."""
    versions = list(victims.versions(row))
    true = transcript.contribution(versions[int(victims.secrets[row])])
    found = np.zeros(len(versions))
    for option, own in enumerate(versions):
        if option != victims.secrets[row]:
            moved = zip(transcript.contribution(own), true, strict=True)
            parts = [touched(would - was) for would, was in moved]
            # As if what the secret makes a difference by were a person of its own.
            found[option] = likelihood_ratio(transcript, parts, is_there=False)
    return found
