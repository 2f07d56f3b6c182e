"""One audit and one run of the attacks a session, which all tests here look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from audit.battery import Observed, SubjectBattery, runs_of
from discreet.audit._neighbours import one_thread
from discreet.audit.attacks import ATTACKS, AttackResult
from discreet.audit.attacks._data import prepare
from discreet.audit.lower_bound import PLANTED, SUBJECTS, Auditable, Evidence, observe


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of a battery for every name; nothing is built for that."""
    if metafunc.cls is not None and issubclass(metafunc.cls, SubjectBattery):
        metafunc.parametrize("name", metafunc.cls.names())


@pytest.fixture(scope="session", autouse=True)
def _on_one_thread() -> Iterator[None]:
    """The data here are small: a quarter to two thirds of the time went into sharing them out."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def observed() -> Observed:
    """Subjects and planted bugs by name, each built, run and counted once."""

    @cache
    def made(name: str) -> tuple[Auditable, Evidence]:
        subject = {**SUBJECTS, **PLANTED}[name].make()
        return subject, observe(subject, runs=runs_of(name), seed=1)

    return made


@pytest.fixture(scope="session")
def attacked() -> Callable[[str], AttackResult]:
    """Attacks by name on the ratings of the command line, each carried out once."""
    ratings = prepare(None, 0)
    return cache(lambda name: ATTACKS[name].run(ratings, 0))
