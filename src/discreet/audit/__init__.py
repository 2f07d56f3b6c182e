"""Attacks on what the other rooms give out, carried out for real. For the curator's eyes only."""

from discreet.audit._consequences import (
    EPSILONS,
    Choice,
    Consequence,
    choose_epsilons,
    consequences,
)
from discreet.audit._linear_ideal import RiskUtility, best_value, risk_utility
from discreet.audit._methods import METHODS
from discreet.audit._release_attack import attack_release
from discreet.audit._scenes import Over
from discreet.audit._victims import Guesses, Victims, choose_victims, guess

__all__ = [
    "EPSILONS",
    "METHODS",
    "Choice",
    "Consequence",
    "Guesses",
    "Over",
    "RiskUtility",
    "Victims",
    "attack_release",
    "best_value",
    "choose_epsilons",
    "choose_victims",
    "consequences",
    "guess",
    "risk_utility",
]
