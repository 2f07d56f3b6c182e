"""Files that appear whole or not at all, whatever goes wrong."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.domain import InputError
from discreet.domain.files import whole_file

NOBODY = 65534


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(code: str, *arguments: str | Path) -> str:
    """What a Python program prints, run as its own process."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "out.csv"
    path.write_text("old")
    return path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_success_replaces_in_one_step(target: Path) -> None:
    with whole_file(target) as temporary:
        temporary.write_text("new")
        assert temporary.parent == target.parent
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert names(target.parent) == ["out.csv"]


def test_a_new_file_and_a_path_as_text(tmp_path: Path) -> None:
    with whole_file(str(tmp_path / "out.csv")) as temporary:
        temporary.write_text("new")
        assert names(tmp_path) == [temporary.name]
    assert (tmp_path / "out.csv").read_text() == "new"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, InputError])
def test_any_exception_leaves_everything_as_it_was(
    target: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error, match="stop"), whole_file(target) as temporary:
        temporary.write_text("half")
        raise error("stop")
    assert target.read_text() == "old"
    assert names(target.parent) == ["out.csv"]


def test_a_block_that_loses_its_temporary_file_changes_nothing(target: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"), whole_file(target) as temporary:
        temporary.unlink()
    assert target.read_text() == "old"
    assert names(target.parent) == ["out.csv"]


def test_a_missing_folder(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "out.csv"
    with pytest.raises(InputError) as caught, whole_file(path):
        pytest.fail("the block must not run")
    assert str(caught.value) == f"{path}: cannot be written: No such file or directory"
    assert names(tmp_path) == []


def test_a_file_where_the_folder_should_be(target: Path) -> None:
    path = target / "out.csv"
    with pytest.raises(InputError) as caught, whole_file(path):
        pytest.fail("the block must not run")
    assert str(caught.value) == f"{path}: cannot be written: Not a directory"


def test_a_folder_as_the_target(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught, whole_file(tmp_path):
        pytest.fail("the block must not run")
    assert str(caught.value) == f"{tmp_path}: is a folder, not a file"


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(InputError) as caught, whole_file(path):
            pytest.fail("the block must not run")
        assert str(caught.value) == f"{path}: is a device or a pipe, not a file"
        assert not path.is_file()


def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "v1.csv").write_text("old")
    link = tmp_path / "latest.csv"
    link.symlink_to(Path("data") / "v1.csv")
    with whole_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "data" / "v1.csv").read_text() == "new"
    assert names(tmp_path / "data") == ["v1.csv"]


def test_a_link_to_nothing_yet_makes_its_file(tmp_path: Path) -> None:
    (tmp_path / "latest.csv").symlink_to("v1.csv")
    with whole_file(tmp_path / "latest.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "v1.csv").read_text() == "new"
    assert (tmp_path / "latest.csv").is_symlink()


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    loop = "Too many levels of symbolic links"
    with pytest.raises(InputError, match=loop), whole_file(tmp_path / "a"):
        pytest.fail("the block must not run")
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_of_a_new_file_follow_the_umask(
    tmp_path: Path, umask: int, expected: int
) -> None:
    before = os.umask(umask)
    try:
        with whole_file(tmp_path / "out.csv") as temporary:
            assert mode(temporary) == 0o600
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert mode(tmp_path / "out.csv") == expected


def test_a_file_that_was_closed_to_others_stays_closed(target: Path) -> None:
    target.chmod(0o600)
    before = os.umask(0o022)
    try:
        with whole_file(target) as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert mode(target) == 0o600


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 120 + ".csv")
    with whole_file(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file or directory", "other.csv"),
        BrokenPipeError(32, "Broken pipe"),
        TimeoutError("the server does not answer"),
    ],
)
def test_an_error_about_something_else_is_not_blamed_on_the_target(
    target: Path, error: OSError
) -> None:
    with pytest.raises(type(error)) as caught, whole_file(target):
        raise error
    assert caught.value is error
    assert target.read_text() == "old"
    assert names(target.parent) == ["out.csv"]


FULL_DISK = """
import resource, sys
from discreet.domain import InputError
from discreet.domain.files import whole_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with whole_file(sys.argv[1]) as temporary, temporary.open("wb") as file:
        file.write(b"x" * 5000)
except InputError as error:
    print(error)
"""


def test_a_full_disk(target: Path) -> None:
    assert run(FULL_DISK, target) == f"{target}: cannot be written: File too large"
    assert target.read_text() == "old"
    assert names(target.parent) == ["out.csv"]


AS_NOBODY = f"""
import os, sys
from discreet.domain import InputError
from discreet.domain.files import whole_file
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
try:
    with whole_file(sys.argv[1]) as temporary:
        temporary.write_text("new")
    print("written")
except InputError as error:
    print(error)
"""


def test_a_read_only_folder(open_folder: Path) -> None:
    target = open_folder / "out.csv"
    target.write_text("old")
    open_folder.chmod(0o555)
    assert run(AS_NOBODY, target) == f"{target}: cannot be written: Permission denied"
    assert target.read_text() == "old"
    assert names(open_folder) == ["out.csv"]


def test_a_folder_that_may_not_be_entered(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o000)
    try:
        told = run(AS_NOBODY, closed / "out.csv")
    finally:
        closed.chmod(0o755)
    assert told == f"{closed / 'out.csv'}: cannot be written: Permission denied"


def test_a_folder_that_may_be_written_but_not_listed(open_folder: Path) -> None:
    inbox = open_folder / "inbox"
    inbox.mkdir()
    inbox.chmod(0o333)
    try:
        assert run(AS_NOBODY, inbox / "out.csv") == "written"
    finally:
        inbox.chmod(0o755)
    assert (inbox / "out.csv").read_text() == "new"
    assert names(inbox) == ["out.csv"]
