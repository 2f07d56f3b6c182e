"""The ideal adversary of a release: it knows every record but one, and sees all that came out.

Released were y_s = E_s + noise, each E_s a sum over people. With c_s(v) for the victim's own part
if the secret is v, the adversary, who knows everybody else, knows E_s for each v; they differ by
c_s(v) - c_s(v'). So it compares how likely each would have made what it sees.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.audit._victims import Victims
from discreet.measure import Noise, Spoken, Transcript

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def attack_release(transcript: Transcript, victims: Victims) -> _Floats:
    """For each victim and each possible secret, how likely the outputs are: its logarithm.

    But for something that is the same for all secrets. Noise is taken for continuous: it is on a
    grid so fine that nobody would notice.

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
        if option == victims.secrets[row]:
            continue
        parts = zip(transcript.spoken, transcript.contribution(own), true, strict=True)
        for spoken, would, was in parts:
            # Where a secret makes no difference, nothing is learnt.
            touched = np.flatnonzero(would != was)
            noise = spoken.noisy.ravel()[touched] - spoken.exact.ravel()[touched]
            moved = would.ravel()[touched] - was.ravel()[touched]
            found[option] += _log_density(noise, moved, spoken, transcript.budget.noise)
    return found


def _log_density(noise: _Ints, moved: _Ints, spoken: Spoken, kind: Noise) -> float:
    """Of the noise that a secret would have needed, less that of the noise that there was."""
    if kind is Noise.GAUSSIAN:
        shift = moved / spoken.spread
        return float((shift * (noise / spoken.spread - shift / 2)).sum())
    scale = spoken.spread / math.sqrt(2)
    return float(((np.abs(noise) - np.abs(noise - moved)) / scale).sum())
