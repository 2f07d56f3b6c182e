"""What the two mechanisms that add integer noise have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy._events import Event
from discreet.privacy._receipt import Leave, redeem
from discreet.privacy.noise import Law, add_noise


def release_with_noise(
    values: npt.NDArray[Any], law: Law, event: Event, receipt: Leave, *, in_place: bool
) -> npt.NDArray[np.int64]:
    """Check everything, redeem the event, then draw: values plus noise, in the same shape.

    Sums are modulo 2^64, and no value is looked at: a refusal would tell something of them, and a
    remainder tells nothing that the sum does not.

    Raises:
        InputError: The values are not integers.
        NotCharged: The receipt does not cover the event.
    """
    if event.count != 1:
        raise InputError("one draw redeems one event: charge an event with count 1")
    if not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"private statistics are integers on a grid, not {values.dtype}")
    flags = values.flags
    if in_place and not (values.dtype == np.int64 and flags.c_contiguous and flags.writeable):
        raise InputError("noise is added in place to a contiguous, writeable int64 array only")
    noisy = values if in_place else values.astype(np.int64, order="C")
    add_noise(law, noisy.reshape(-1), redeem(receipt, event))
    return noisy
