"""`discreet data`, as a person or a script would call it."""

from __future__ import annotations

import functools
import hashlib
import io
import shlex
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

from cli._calling import Outcome, call, call_alone
from discreet.ratings.download import data_sets
from discreet.ratings.synthetic import SHAPES

Run = Callable[..., Outcome]


@pytest.fixture
def run() -> Run:
    """Call `discreet data ...`."""
    return functools.partial(call, "data")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.csv"
    path.write_text("user,item,rating\nann,a,5\nann,b,1\nbob,a,4\nbob,a,3\n")
    (tmp_path / "items.csv").write_text("id,title\na,Alien\nb,Heat\nc,Ran\n")
    return path


def test_list_shows_everything(run: Run) -> None:
    shown = run("list").out
    for name in (*SHAPES, *(each.name for each in data_sets())):
        assert name in shown
    assert "100,480,507" in shown


def test_list_for_scripts(run: Run) -> None:
    listed = run("list", "--json").json()
    assert [each["name"] for each in listed["shapes"]] == list(SHAPES)
    assert [each["name"] for each in listed["data_sets"]] == [each.name for each in data_sets()]
    assert listed["data_sets"][0]["checksums"] == list(data_sets()[0].checksums)


def test_info_for_scripts(run: Run, small: Path) -> None:
    items = small.with_name("items.csv")
    told = run("info", small, "--scale", "1..5", "--catalog", items, "--json").json()
    assert "not private" in told["note"]
    assert told["scale"] == "1..5"
    assert (told["ratings"], told["users"], told["items"], told["rated_items"]) == (3, 2, 3, 2)
    assert told["values"] == {"1": 1, "2": 0, "3": 1, "4": 0, "5": 1}
    assert (told["mean"], told["duplicates"], told["skipped"]) == (3.0, 1, 0)


def test_info_for_people_says_that_it_is_not_private(run: Run, small: Path) -> None:
    told = run("info", small, "--scale", "1..5", "--catalog", "from-data")
    assert told.code == 0
    assert told.out.startswith("for the curator's eyes only: these figures are not private\n")
    lines = [line.split() for line in told.out.splitlines()]
    assert ["ratings", "3"] in lines and ["mean", "3.0000"] in lines
    assert ["2", "0", "0.0%"] in lines
    assert next(line for line in lines if line[:1] == ["5"])[1:3] == ["1", "33.3%"]


def test_info_reads_other_columns_and_skips_bad_rows(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("who,what,stars,when\n1,7,2,100\n1,8,9,100\n2,7,4,86400\n")
    named = "user=who,item=what,rating=stars,time=when"
    given = ("--scale", "1..5", "--catalog", "from-data", "--columns", named)
    assert "line 3" in run("info", path, *given).complaint()
    told = run("info", path, *given, "--on-bad-rows", "skip", "--json").json()
    assert (told["ratings"], told["skipped"]) == (2, 1)
    assert (told["first"], told["last"]) == (
        "1970-01-01T00:01:40+00:00",
        "1970-01-02T00:00:00+00:00",
    )


def test_info_knows_a_real_data_set(run: Run, data_folder: Path) -> None:
    told = run("info", data_folder / "ml-100k", "--json").json()
    assert (told["ratings"], told["users"], told["items"]) == (100_000, 943, 1_682)
    # The mean of all 100,000 ratings, summed with awk from u.data.
    assert told["mean"] == pytest.approx(3.52986)
    assert told["per_user"]["least"] == 20


def test_info_counts_columns_of_a_file_without_a_header(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("5,ann,a\n4,bob,a\n")
    given = ("--scale", "1..5", "--catalog", "from-data", "--columns", "rating=0,user=1,item=2")
    told = run("info", path, *given, "--json").json()
    assert (told["ratings"], told["items"], told["mean"]) == (2, 1, 4.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gone.csv", "--scale", "1..5", "--catalog", "from-data"), "gone.csv"),
        (("small.csv", "--scale", "5", "--catalog", "from-data"), "'5' is not a scale"),
        (("small.csv", "--scale", "1..5", "--columns", "who"), "'who' names no column"),
        (("small.csv", "--scale", "1..5", "--catalog", "gone.csv"), "gone.csv"),
        (("small.csv", "--scale", "2..5", "--catalog", "from-data"), "line 3"),
    ],
)
def test_info_complains_in_a_line(
    run: Run,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(small.parent)
    assert message in run("info", *arguments).complaint()


def test_make_writes_what_its_advice_reads(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "made up.parquet"
    made = run("make", "ml-latest-small", "-o", path, "--ratings", 5000)
    assert made.out.splitlines() == [str(path), str(tmp_path / "made up.items.csv")]
    assert pl.read_parquet(path).columns == ["user", "item", "rating", "time"]
    advice = next(line for line in made.err.splitlines() if line.startswith("  discreet data"))
    told = run(*shlex.split(advice)[2:], "--json").json()
    assert (told["ratings"], told["scale"], told["duplicates"]) == (5000, "0.5..5/0.5", 0)


def test_make_advises_python_that_runs(run: Run, tmp_path: Path) -> None:
    made = run("make", "jester", "-o", tmp_path / "j.csv", "--ratings", 3000)
    advice = made.err.strip().splitlines()[-1].strip()
    assert advice.startswith("discreet.read_ratings(") and "scale=(-10, 10, None)" in advice


def test_make_takes_sizes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    given = ("--ratings", 4000, "--users", 100, "--items", 200)
    assert run("make", "netflix", "-o", path, *given).code == 0
    frame = pl.read_csv(path)
    assert (len(frame), frame["user"].n_unique()) == (4000, 100)
    assert len(pl.read_csv(tmp_path / "r.items.csv")) == 200


def test_make_gives_the_same_for_the_same_seed(run: Run, tmp_path: Path) -> None:
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        run("make", "ml-100k", "-o", tmp_path / name, "--ratings", 2000, "--seed", seed)
    first = (tmp_path / "a.csv").read_bytes()
    assert (tmp_path / "b.csv").read_bytes() == first
    assert (tmp_path / "c.csv").read_bytes() != first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "-o", "r.csv"), "no shape 'nothing'"),
        (("ml-1m", "-o", "r.xlsx"), "as .parquet or .csv"),
        (("ml-1m", "-o", "gone/r.csv"), "folder does not exist"),
        (("ml-1m", "-o", "r.csv", "--ratings", "0"), "at least 1 rating"),
        (("ml-1m", "-o", "r.csv", "--users", "2", "--items", "2"), "room for at most"),
        (("ml-1m", "-o", "r.csv", "--seed", "-1"), "seed"),
    ],
)
def test_make_complains_in_a_line_and_writes_nothing(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in run("make", *arguments).complaint()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_make_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.cli.data.write_ratings", interrupted)
    made = run("make", "ml-100k", "-o", tmp_path / "r.csv", "--ratings", 2000)
    assert made.code == 130
    assert list(tmp_path.iterdir()) == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on the loopback, and the folder that it serves."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/ml-latest-small.zip", folder
    server.shutdown()
    thread.join()
    server.server_close()


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr("ml-latest-small/movies.csv", "movieId,title,genres\n1,Alien,Horror\n")
        zipped.writestr(
            "ml-latest-small/ratings.csv",
            "userId,movieId,rating,timestamp\n1,1,4.5,964982703\n2,1,3.0,964982704\n",
        )
    return buffer.getvalue()


def test_get_fetches_what_info_reads(
    run: Run, mirror: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    address, served = mirror
    content = archive()
    (served / "ml-latest-small.zip").write_bytes(content)
    md5 = hashlib.md5(content).hexdigest()
    (served / "ml-latest-small.zip.md5").write_text(f"MD5 (ml-latest-small.zip) = {md5}\n")
    given = ("get", "ml-latest-small", "-o", tmp_path / "sets", "--address", address)
    first = run(*given)
    assert first.out.strip() == str(tmp_path / "sets" / "ml-latest-small")
    assert "GroupLens" in first.err and "verified" not in first.err
    told = run("info", first.out.strip(), "--json").json()
    assert (told["ratings"], told["mean"]) == (2, 3.75)
    again = run(*given)
    assert again.out == first.out and "there already" in again.err


def test_get_advises_how_to_read_a_plain_table(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "goodbooks-10k"
    folder.mkdir()
    (folder / "ratings.csv").write_text("user_id,book_id,rating\n1,2,5\n2,1,4\n")
    (folder / "books.csv").write_text(
        "book_id,goodreads_book_id,work_id,authors,original_title,title,average_rating\n"
        '1,2767052,2792775,Suzanne Collins,The Hunger Games,"The Hunger Games, #1",4.34\n'
        "2,3,4640799,J.K. Rowling,,Harry Potter,4.44\n3,41865,3212258,Stephenie Meyer,,Twilight,3\n"
    )
    told = run("get", "goodbooks-10k", "-o", tmp_path)
    assert "there already" in told.err and "Creative Commons" in told.err
    advice = next(line for line in told.err.splitlines() if line.startswith("  discreet data"))
    read = run(*shlex.split(advice)[2:], "--json").json()
    assert (read["ratings"], read["items"], read["mean"]) == (2, 3, 4.5)


def test_get_says_what_it_could_not_verify(
    run: Run, mirror: tuple[str, Path], tmp_path: Path
) -> None:
    address, served = mirror
    content = archive()
    (served / "ml-latest-small.zip").write_bytes(content)
    told = run("get", "ml-latest-small", "-o", tmp_path, "--address", address)
    assert told.code == 0
    assert "could not be verified" in told.err
    assert hashlib.sha256(content).hexdigest() in told.err


def test_get_complains_in_a_line(run: Run, mirror: tuple[str, Path], tmp_path: Path) -> None:
    address, served = mirror
    (served / "ml-latest-small.zip").write_bytes(b"surprise")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}/ml-1m.zip"
    wrong = {
        ("nothing",): "'nothing' is not a public data set",
        ("ml-1m", "--address", address): "offers 8 bytes where 5,917,549 are published",
        ("ml-latest-small", "--address", address): "is not a zip archive",
        ("ml-1m", "--address", f"{address}.gone"): "answered 404",
        ("ml-1m", "--address", closed): "cannot be reached",
        ("ml-1m", "--address", "file:///etc/passwd"): "must begin with http",
    }
    for arguments, message in wrong.items():
        assert message in run("get", *arguments, "-o", tmp_path / "sets").complaint()
    left = {path.name for path in (tmp_path / "sets").iterdir()}
    assert left <= {"ml-latest-small.zip.part"}


def test_what_was_made_can_be_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    made = run("make", "ml-100k", "-o", path, "--ratings", 2000)
    assert made.code == 0 and made.out.splitlines()[0] == str(path)
    assert "\x1b" not in made.err
    read = run("info", path, "--scale=1..5", "--catalog", tmp_path / "r.items.csv", "--json")
    assert read.json()["ratings"] == 2000


def test_an_unknown_shape_is_a_line(run: Run, tmp_path: Path) -> None:
    assert "no shape" in run("make", "nothing", "-o", tmp_path / "r.csv").complaint()


def test_data_are_made_in_a_process_of_their_own(tmp_path: Path) -> None:
    """There SciPy's linear algebra is kept from numba, and has to be there for whom needs it."""
    made = call_alone("data", "make", "netflix", "--ratings", "1000", "-o", tmp_path / "r.csv")
    assert made.code == 0, made.err
