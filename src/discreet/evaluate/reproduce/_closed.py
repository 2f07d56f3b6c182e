"""The appendix of Chow, Pathak and Wang: what the closed variant costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from discreet.evaluate.reproduce import _curves
from discreet.evaluate.reproduce._found import Claim, Found
from discreet.evaluate.reproduce._study import NETFLIX, Study

PAPER_SECONDS = 11 * 60 + 36
PAPER_BYTES = (NETFLIX[1] - 1) * 128  # the 58.6 MB of the paper are MiB


def cost_of_closed(study: Study) -> Found:
    """A client's work in directories of several sizes, and a server's matching."""
    # Not every system can tell its peak memory: only this figure needs one that can.
    from discreet.evaluate.reproduce._matching import measure_client, measure_server

    largest = study.effort.directory
    sizes = [max(largest // part, 2) for part in (8, 4, 2, 1)]
    rows: list[dict[str, Any]] = [
        {"side": "client", "users": cost.users, "cpu_s": cost.cpu_s, "mb_up": cost.up_mb,
         "mb_down": cost.down_mb, "pairs": cost.users - 1, "peak_mib": ""}
        for cost in (measure_client(size) for size in study.each("directories", sizes))
    ]  # fmt: skip
    server = measure_server(study.effort.uploads)
    rows.append(
        {"side": "server", "users": server.users, "cpu_s": server.cpu_s, "mb_up": "",
         "mb_down": "", "pairs": server.pairs, "peak_mib": server.peak_mib}
    )  # fmt: skip
    last = rows[-2]
    notes = [
        "The paper exponentiates modulo a prime of 1,024 bits for every other member (C++, Core 2 "
        "Duo, 3 GHz). Here a member agrees on a key with every other one by X25519 and sends 16 "
        "bytes of a keyed hash.",
        "The paper's construction cannot be repaired by a larger group: the quotient of two tags "
        "is g to the difference of two hash values of eight bits, which anybody finds by trying "
        "(docs/errata.md). So what is compared is the cost of the same service, not of the same "
        "computation.",
        "Times are CPU seconds of this machine.",
    ]
    if largest < NETFLIX[1]:
        notes.append(
            f"The largest directory has {largest:,} members here; a client's work grows with it "
            f"in a straight line, so {NETFLIX[1]:,} are reckoned by that. --size full measures "
            "them."
        )
    made_on = "Made on keys and tags for the purpose: no ratings are looked at."
    return Found(rows, _claims(last, asdict(server), largest), notes,
                 lambda figure: _draw(figure, rows), size=(9.0, 4.2), made_on=made_on)  # fmt: skip


def _claims(last: dict[str, Any], server: dict[str, Any], largest: int) -> list[Claim]:
    times = NETFLIX[1] / last["users"]
    how = "measured" if largest >= NETFLIX[1] else f"reckoned from {largest:,}"
    return [
        Claim(
            f"a client's work among {NETFLIX[1]:,}", "11 min 36 s (696 s)",
            f"{last['cpu_s'] * times:,.0f} s ({how}), {last['cpu_s'] / last['users'] * 1e6:.0f} "
            "microseconds for each other member",
        ),
        Claim(
            "what a client sends", f"58.6 MiB ({PAPER_BYTES / 1e6:.1f} MB)",
            f"{last['mb_up'] * times:.1f} MB",
        ),
        Claim("what a client fetches", "not said", f"{last['mb_down'] * times:.1f} MB"),
        Claim(
            "the server's comparing", "not said",
            f"{server['users']:,} uploads, {server['pairs']:,} pairs: {server['cpu_s']:.2f} s"
            # Of a process that held more before, its peak tells nothing.
            + f", {server['peak_mib']:,.0f} MiB" * (server["peak_mib"] > 1)
            + f"; clusters are the equal hash values: {'yes' if server['right'] else 'NO'}",
        ),
    ]  # fmt: skip


def _draw(figure: Any, rows: list[Any]) -> None:
    left, right = figure.subplots(1, 2)
    some = _curves.where(rows, side="client")
    _curves.curve(left, some, "users", "cpu_s", "discreet", 0)
    _curves.curve(right, some, "users", "mb_up", "discreet, sent", 0)
    _curves.curve(right, some, "users", "mb_down", "discreet, fetched", 1)
    left.plot([NETFLIX[1]], [PAPER_SECONDS], label="the paper", **_curves.PAPER)
    right.plot([NETFLIX[1]], [PAPER_BYTES / 1e6], label="the paper, sent", **_curves.PAPER)
    for axes, title, unit in ((left, "a client's work", "CPU seconds"), (right, "traffic", "MB")):
        axes.set_yscale("log")
        _curves.finish(axes, title, "members", unit, log_x=True)
