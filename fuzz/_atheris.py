"""One target under atheris (libFuzzer), in a process of its own, which libFuzzer ends.

`python -m fuzz` starts it as `python -m fuzz._atheris NAME FOLDER -max_total_time=60 -seed=1`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz._outcome import LONGEST, Outcome, place, quick_folder

INSTALLED = importlib.util.find_spec("atheris") is not None
# Prints one finding: libFuzzer's process ends without a word from Python.
_FOUND = "FOUND "
# MiB, and seconds for one input, beyond which it is a finding. Chosen by hand: no input is large.
_MOST_MEMORY, _LONGEST_SECONDS = 4096, 60


def fuzz_with_atheris(name: str, *, seed: int, seconds: float) -> Outcome:
    """Fuzz a target for a time; what it raises does not stop it."""
    with tempfile.TemporaryDirectory(prefix="discreet-fuzz.", dir=quick_folder()) as place_of_all:
        folder = Path(place_of_all)
        (folder / "corpus").mkdir()
        options = {
            "max_len": LONGEST,
            "max_total_time": max(1, round(seconds)),
            "seed": seed,
            "rss_limit_mb": _MOST_MEMORY,
            "timeout": _LONGEST_SECONDS,
            "print_final_stats": 1,
            "artifact_prefix": f"{folder}/",
        }
        given = [f"-{option}={value}" for option, value in options.items()]
        command = [sys.executable, "-m", "fuzz._atheris", name, str(folder / "corpus"), *given]
        # libFuzzer ends its process before Python tidies up: what the target writes is here too.
        where = os.environ | {"TMPDIR": place_of_all}
        run = subprocess.run(command, check=False, capture_output=True, env=where)
        corpus = [path.read_bytes() for path in (folder / "corpus").iterdir()]
        # What stops libFuzzer itself: a crash of the interpreter, memory or time without end.
        stopped = [path for path in folder.iterdir() if path.is_file()]
        crashes = {f"libFuzzer: {path.name}": path.read_bytes() for path in stopped}
    said = run.stderr.decode(errors="replace")
    tried = re.findall(r"^#(\d+)", said, re.MULTILINE)
    reached = re.findall(r"cov: (\d+)", said)
    if not tried or not reached or (run.returncode and not crashes):
        raise RuntimeError(f"{name}: libFuzzer stopped\n{said[-3000:]}")
    for line in run.stdout.decode().splitlines():
        if line.startswith(_FOUND):
            content, _, what = line.removeprefix(_FOUND).partition(" ")
            crashes[what] = bytes.fromhex(content)
    return Outcome(int(tried[-1]), int(reached[-1]), corpus, crashes)


def _main(name: str, folder: str, *options: str) -> None:
    import atheris

    # Numba compiles bytecode, and does not know what atheris puts into it.
    found = importlib.util.find_spec("discreet")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    compiled = [path for path in root.rglob("*.py") if "numba" in path.read_text()]
    names = [
        ".".join(("discreet", *path.relative_to(root).with_suffix("").parts)) for path in compiled
    ]
    with atheris.instrument_imports(
        include=["discreet"], exclude=[each.removesuffix(".__init__") for each in names]
    ):
        from fuzz.targets import ALLOWED, TARGETS

    target, known = TARGETS[name], set[str]()
    for number, content in enumerate(target.seeds()):
        (Path(folder) / f"seed-{number}").write_bytes(content)

    def once(content: bytes) -> None:
        try:
            target.run(content)
        except ALLOWED:
            pass
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
            what = place(error)
            if what not in known:
                known.add(what)
                line = what.replace("\n", " ")
                sys.stdout.write(f"{_FOUND}{content.hex()} {line}\n")
                sys.stdout.flush()

    atheris.Setup([name, folder, *options], once)
    atheris.Fuzz()


if __name__ == "__main__":
    _main(*sys.argv[1:])
