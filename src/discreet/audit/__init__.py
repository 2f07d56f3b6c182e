"""Attacks on what the other rooms give out, carried out for real. For the curator's eyes only."""

from discreet.audit._adversary import (
    Guesses,
    Victims,
    attack_release,
    choose_victims,
    guess,
)
from discreet.audit._compared import METHODS, noised_answers
from discreet.audit._consequences import (
    EPSILONS,
    Choice,
    Consequence,
    choose_epsilons,
    consequences,
)

__all__ = [
    "EPSILONS",
    "METHODS",
    "Choice",
    "Consequence",
    "Guesses",
    "Victims",
    "attack_release",
    "choose_epsilons",
    "choose_victims",
    "consequences",
    "guess",
    "noised_answers",
]
