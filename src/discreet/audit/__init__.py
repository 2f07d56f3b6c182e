"""Attacks on what the other rooms give out, carried out for real. For the curator's eyes only."""

from discreet.audit._consequences import (
    EPSILONS,
    Choice,
    Consequence,
    choose_epsilons,
    consequences,
)
from discreet.audit._methods import METHODS, noised_answers
from discreet.audit._release_attack import attack_release
from discreet.audit._victims import Guesses, Victims, choose_victims, guess

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
