"""`make bench`: every benchmark at a size that takes minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    for script in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        print(f"== {script.stem}", flush=True)
        named = ["-m", f"benchmarks.{script.stem}"]
        subprocess.run([sys.executable, *named, *sys.argv[1:]], check=True)
