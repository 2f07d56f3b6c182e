"""`discreet fit`: the main road, and everything that can go wrong on it."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace

import pytest

from cli._calling import call, call_alone, run_python, write_sample
from discreet.privacy import Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.release import load

UNBOOKED = "Warning: without a ledger, this release's privacy cost is not recorded anywhere.\n"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    limits = [Limit(Unit.USER, epsilon=2.0, delta=1e-6)]
    return Ledger.create(tmp_path / "shop.ledger", "customers", limits)


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes three people's ratings of three items, and says how to read them."""

    def tiny(rows: str = "a,x,5\na,y,1\na,z,3\nb,x,4\nc,y,2\n", items: str = "xyz") -> list[str]:
        folder = tmp_path / "tiny"
        folder.mkdir()
        (folder / "r.csv").write_text(f"user,item,rating\n{rows}")
        (folder / "i.csv").write_text("id,title\n" + "".join(f"{i},film {i}\n" for i in items))
        return [str(folder / "r.csv"), "--scale", "1..5", "--catalog", str(folder / "i.csv")]

    return tiny


def test_by_way_of_the_disk_the_release_is_the_same(
    tiny: Callable[..., list[str]], tmp_path: Path
) -> None:
    asked = [*tiny(), "--epsilon", "inf", "--method", "lists"]
    memory, disk = tmp_path / "memory.discreet", tmp_path / "disk.discreet"
    call("fit", *asked, "-o", memory)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    call("fit", *asked, "-o", disk, "--engine", "disk", "--scratch", scratch)
    assert load(disk).digest() == load(memory).digest()
    assert list(scratch.iterdir()) == []
    refused = call("fit", *asked, "-o", disk, "--scratch", scratch, "--overwrite").complaint()
    assert "--scratch is for --engine disk" in refused


def test_columns_of_the_list_of_items_go_into_the_release(
    tiny: Callable[..., list[str]], tmp_path: Path
) -> None:
    asked, path = tiny(), tmp_path / "m.discreet"
    Path(asked[-1]).write_text("id,title,genres\nx,X,Comedy\ny,Y,Comedy|Crime\nz,Z,Crime\n")
    call("fit", "--no-ledger", *asked, "-o", path, "--epsilon", 1)
    assert load(path).catalog.columns == {}
    kept = ("--overwrite", "--keep-columns", "genres")
    call("fit", "--no-ledger", *asked, "-o", path, "--epsilon", 1, *kept)
    assert load(path).catalog.columns == {"genres": ("Comedy", "Comedy|Crime", "Crime")}
    assert call("inspect", path, "--json").json()["columns"] == ["genres"]
    assert "columns" in call("inspect", path).out
    listed = call("recommend", path, "--where", "genres=crime", "--json").json()["recommendations"]
    assert {entry["title"] for entry in listed} == {"Y", "Z"}
    said = call(
        "fit", "--no-ledger", *asked, "-o", tmp_path / "m", "--keep-columns", "genre"
    ).complaint()
    assert "has no column 'genre' to keep (it has id, title, genres)" in said


def test_the_road_from_ratings_to_recommendations(
    sample: list[str], ledger: Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "m.discreet"
    made = call_alone("fit", *sample, "-o", path, "--epsilon", 1, "--ledger", ledger.path)
    assert (made.code, made.err) == (0, "")
    assert made.out.splitlines()[:2] == [str(path), "epsilon 1, delta 1e-06, per user"]
    guarantee = load(path, verify=True).guarantee
    assert (guarantee.unit, guarantee.delta, guarantee.is_private) == (Unit.USER, 1e-6, True)
    assert guarantee.epsilon == pytest.approx(1.0) and guarantee.epsilon <= 1.0
    assert len(ledger.history()) == 1
    assert ledger.spent(Unit.USER).mu > 0
    assert "recorded as charge 1 in the ledger of 'customers'." in made.out
    assert ledger.pair(guarantee, load(path).digest()).charge == 1
    told = call("recommend", path, "--like", "1=5", "-n", 3, "--json").json()
    assert len(told["recommendations"]) == 3 and told["unknown"] == []


def test_json_says_what_was_made(sample: list[str], tmp_path: Path) -> None:
    path = tmp_path / "m.discreet"
    told = call(
        "fit", "--no-ledger", *sample, "-o", path, "--protect", "rating", "--epsilon", 2, "--json"
    ).json()
    assert (told["path"], told["protect"], told["delta"]) == (str(path), "rating", 1e-6)
    assert told["epsilon"] == pytest.approx(2.0)
    assert told["guarantee"]["epsilon"] == told["epsilon"]
    assert (told["method"], told["parameters"]["settings"]["rank"]) == ("refined", 20)


def test_theta_is_shown_as_the_exact_epsilon(sample: list[str], tmp_path: Path) -> None:
    told = call(
        "fit", "--no-ledger", *sample, "-o", tmp_path / "m", "--theta", 0.15, "--json"
    ).json()
    epsilon, mu = told["epsilon"], 0.15 * math.sqrt(0.02**2 + 0.19**2 + 0.79**2)
    cdf = NormalDist().cdf
    delta = cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * cdf(-epsilon / mu - mu / 2)
    assert delta == pytest.approx(1e-6, rel=1e-4)
    shown = call("fit", "--no-ledger", *sample, "-o", tmp_path / "again", "--theta", 0.15)
    assert shown.out.splitlines()[1].startswith("epsilon 0.49")


def test_settings_reach_the_release(sample: list[str], tmp_path: Path) -> None:
    options = ["--method", "covariance", "--rank", 3, "--clean", "none", "--dense"]
    options += ["--noise", "laplace"]
    told = call("fit", "--no-ledger", *sample, "-o", tmp_path / "m", *options, "--json").json()
    settings = told["parameters"]["settings"]
    assert (settings["rank"], settings["clean"], settings["dense"]) == (3, "none", True)
    assert (settings["noise"], told["delta"]) == ("laplace", 0.0)
    assert told["epsilon"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--epsilon", "0"), "epsilon must be above 0, not 0"),
        (("--epsilon", "-1"), "epsilon must be above 0, not -1"),
        (("--epsilon", "nan"), "epsilon must be above 0, not nan"),
        (("--epsilon", "1e9"), "epsilon"),
        (("--theta", "0"), "theta must be a number above 0"),
        (("--theta", "inf"), "theta must be a number above 0"),
        (("--epsilon", "1", "--theta", "0.1"), "not both"),
        (("--delta", "0"), "or use --noise laplace"),
        (("--delta", "1"), "delta must be at least 0 and below 1"),
        (("--delta", "nan"), "delta must be at least 0 and below 1"),
        (("--noise", "laplace", "--delta", "1e-6"), "leave --delta out"),
        (("--epsilon", "inf"), "no ledger has room for an infinite epsilon"),
        (("--rank", "-1"), "from 0 to 500, not -1"),
        (("--epsilon", "3"), "nothing was charged"),
        (("--protect", "rating"), "nothing bounds"),
        (("-o", "gone/m.discreet"), "No such file or directory"),
        (("-o", "folder"), "is a folder, not a file"),
    ],
)
def test_what_cannot_be_is_a_line_and_costs_nothing(
    sample: list[str],
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    output = () if "-o" in options else ("-o", "m.discreet")
    said = call("fit", *sample, *output, "--ledger", ledger.path, *options)
    lines = [line for line in said.err.splitlines() if "warning" not in line]
    # What has no room in the ledger has a code of its own.
    code = 3 if complaint in ("nothing was charged", "nothing bounds") else 2
    assert (said.code, said.out, len(lines)) == (code, "", 1)
    assert complaint in lines[0]
    assert ledger.history() == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "shop.ledger"]


@pytest.mark.parametrize(
    ("rows", "items", "complaint"),
    [
        ("a,x,5\na,y,1\nb,z,4\n", "xy", "line 4"),
        ("a,x,5\nb,x,4\n", "x", "at least two items"),
        ("a,x,5\na,y,7\n", "xyz", "line 3"),
        ("a,x,5\na,y\n", "xyz", "line 3"),
    ],
)
def test_ratings_that_cannot_be_used_cost_nothing(
    tiny: Callable[..., list[str]],
    ledger: Ledger,
    tmp_path: Path,
    rows: str,
    items: str,
    complaint: str,
) -> None:
    said = call("fit", *tiny(rows, items), "-o", tmp_path / "m", "--ledger", ledger.path)
    assert complaint in said.complaint()
    assert ledger.history() == [] and not (tmp_path / "m").exists()


@pytest.mark.parametrize("options", [("--ledger", "none.ledger"), ("--catalog", "none.csv")])
def test_files_that_are_missing_are_named(
    sample: list[str], tmp_path: Path, options: tuple[str, str]
) -> None:
    without = () if "--ledger" in options else ("--no-ledger",)
    said = call("fit", *without, *sample, "-o", tmp_path / "m", *options)
    assert options[1] in said.complaint()


@pytest.mark.parametrize("protect", ["user", "rating"])
def test_a_user_with_every_item_is_no_trouble(
    tiny: Callable[..., list[str]], tmp_path: Path, protect: str
) -> None:
    said = call("fit", "--no-ledger", *tiny(), "-o", tmp_path / "m", "--protect", protect)
    *warnings, last = said.err.splitlines(keepends=True)
    assert (said.code, last) == (0, UNBOOKED)
    about_people = ["single ratings are protected, not people" in line for line in warnings]
    assert about_people == ([True] if protect == "rating" else [])
    assert len(load(tmp_path / "m").catalog) == 3


@pytest.mark.parametrize("option", ["--epsilon=60", "--epsilon=inf", "--delta=0.4"])
def test_a_weak_budget_is_warned_of(
    tiny: Callable[..., list[str]], tmp_path: Path, option: str
) -> None:
    said = call("fit", "--no-ledger", *tiny(), "-o", tmp_path / "m", option, "--json")
    words = {
        "--epsilon=60": "10^27 times as likely",
        "--epsilon=inf": "not private",
        "--delta=0.4": "users",
    }
    first, *others = said.err.splitlines(keepends=True)
    assert first.startswith("discreet: warning: ") and words[option] in first
    # Without noise there is no cost to record.
    assert others == ([] if option == "--epsilon=inf" else [UNBOOKED])
    assert said.json()["private"] is (option != "--epsilon=inf")


def test_a_usual_budget_is_not_warned_of(tiny: Callable[..., list[str]], tmp_path: Path) -> None:
    assert (
        call("fit", "--no-ledger", *tiny(), "-o", tmp_path / "m", "--delta", "0.3").err == UNBOOKED
    )


def test_without_a_ledger_the_release_says_so_for_ever(
    tiny: Callable[..., list[str]], tmp_path: Path
) -> None:
    said = call("fit", "--no-ledger", *tiny(), "-o", tmp_path / "m")
    assert said.err == UNBOOKED
    assert "Its privacy cost is not recorded in any ledger." in said.out.splitlines()
    assert load(tmp_path / "m").guarantee.sentences()[-1] in said.out.splitlines()


def test_too_little_room_is_found_before_the_charge(
    sample: list[str], ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    said = call("fit", *sample, "-o", tmp_path / "m", "--ledger", ledger.path)
    assert "its disk has only 1.0 kB left" in said.complaint()
    assert ledger.history() == []


def test_the_room_that_is_needed_counts_features_and_free_directions(
    tiny: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.csv").write_text("id,kind,year\nx,a,1999\ny,a,2001\nz,b,1979\n")
    arguments, output = tiny(), ("-o", tmp_path / "m", "--rank", 3)
    # Three items: four numbers each, three factors, two free directions, two columns of features.
    for options, needed in (((), 4 * 3 * 9), (("--features", tmp_path / "f.csv"), 4 * 3 * 11)):
        room = SimpleNamespace(free=needed - 1)
        monkeypatch.setattr("shutil.disk_usage", lambda _, room=room: room)
        said = call("fit", "--no-ledger", *arguments, *output, *options).complaint()
        assert f"needs {needed} bytes, but its disk has only {needed - 1} bytes left" in said
        room.free += 1
        assert call("fit", "--no-ledger", *arguments, *output, *options).code == 0
        (tmp_path / "m").unlink()


def test_a_disk_that_fills_up_leaves_no_file_and_a_true_ledger(
    sample: list[str], ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, path: Path, **__: object) -> None:
        path.write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("discreet.release._codec.save_file", full)
    said = call("fit", *sample, "-o", tmp_path / "m", "--ledger", ledger.path)
    assert "No space left on device; the ledger was charged anyway" in said.complaint()
    assert len(ledger.history()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["shop.ledger"]


def test_an_interrupt_leaves_no_file_and_a_true_ledger(sample: list[str], tmp_path: Path) -> None:
    """A real signal, while the covariance is computed."""
    limits = [Limit(Unit.RATING, epsilon=50.0, delta=1e-6)]
    ledger = Ledger.create(tmp_path / "shop.ledger", "customers", limits)
    code = f"""
import os, signal, sys
from contextlib import contextmanager
from discreet.cli import fit, main

@contextmanager
def stages():
    yield lambda stage, done, total: os.kill(os.getpid(), signal.SIGINT)

fit.stages = stages
sys.argv = ["discreet", "fit", *{sample}, "-o", {str(tmp_path / "m")!r}, "--protect", "rating",
            "--epsilon", "40", "--ledger", {str(ledger.path)!r}]
main()
"""
    said = run_python("-c", code)
    assert (said.code, said.out) == (130, "")
    assert [line for line in said.err.splitlines() if "warning" not in line] == [
        "the ledger was charged anyway",
        "discreet: interrupted; nothing was left half-written",
    ]
    assert len(ledger.history()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["shop.ledger"]


def test_nothing_but_a_release_is_written_over(
    tiny: Callable[..., list[str]], tmp_path: Path
) -> None:
    kept, release, arguments = tmp_path / "customers.ledger", tmp_path / "m.discreet", tiny()
    kept.write_bytes(b"anything but a release")
    said = call("fit", "--no-ledger", *arguments, "-o", kept)
    assert said.code == 2
    assert "exists and is not a release" in said.complaint()
    assert kept.read_bytes() == b"anything but a release"
    assert call("fit", "--no-ledger", *arguments, "-o", release).code == 0


def test_a_release_is_replaced_only_on_request_and_refused_before_the_charge(
    sample: list[str], ledger: Ledger, tmp_path: Path
) -> None:
    told = ("fit", *sample, "-o", tmp_path / "m", "--ledger", ledger.path, "--epsilon", 0.1)
    assert call(*told).code == 0
    paid = (tmp_path / "m").read_bytes()
    said = call(*told).complaint()
    assert "exists; choose another name, or give --overwrite" in said
    assert (tmp_path / "m").read_bytes() == paid and len(ledger.history()) == 1
    assert call(*told, "--overwrite").code == 0
    assert (tmp_path / "m").read_bytes() != paid and len(ledger.history()) == 2
    kept = tmp_path / "kept.csv"
    kept.write_text("not a release")
    assert "is not a release" in call(*told, "-o", kept, "--overwrite").complaint()


def test_a_ledger_or_none_is_chosen_on_purpose(
    tiny: Callable[..., list[str]], ledger: Ledger, tmp_path: Path
) -> None:
    told = ("fit", *tiny(), "-o", tmp_path / "m")
    said = call(*told).complaint()
    assert "--ledger" in said and "--no-ledger" in said
    both = call(*told, "--ledger", ledger.path, "--no-ledger").complaint()
    assert "not both" in both
    assert ledger.history() == [] and not (tmp_path / "m").exists()
    assert call(*told, "--no-ledger").code == 0
    assert "not recorded in any ledger" in str(load(tmp_path / "m").guarantee)
    assert call(*told, "--epsilon", "inf", "-o", tmp_path / "bare").code == 0  # costs nothing


def test_a_bound_on_ratings_makes_a_promise_per_rating_one_per_user(
    sample: list[str], ledger: Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "m.discreet"
    told = ("fit", *sample, "-o", path, "--protect", "rating", "--epsilon", 0.05)
    refused = call(*told, "--ledger", ledger.path)
    assert refused.code != 0 and "--most-ratings" in refused.err
    assert ledger.history() == [] and not path.exists()
    made = call(*told, "--ledger", ledger.path, "--most-ratings", 5)
    assert made.code == 0
    assert "At most 5 ratings of each user were kept" in made.out
    guarantee = load(path, verify=True).guarantee
    assert {event.ratings_per_user for event in guarantee.events} == {5}
    assert guarantee.per(Unit.USER) is not None
    assert len(ledger.history()) == 1


def test_a_bound_below_one_is_refused(sample: list[str], tmp_path: Path) -> None:
    said = call("fit", "--no-ledger", *sample, "-o", tmp_path / "m.discreet", "--most-ratings", 0)
    assert said.code != 0 and "--most-ratings" in said.err
