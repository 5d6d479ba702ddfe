"""Compile small files that ask for gigabytes of memory or hours of time.

Every file is compiled in a separate process. Print its size, the CPU seconds and the memory of the
process, whether it was compiled or refused, and the message.

    python benchmarks/demanding_files.py [--format tflite|onnx|pt2]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.demanding_models import MODELS
from support.demanding_programs import PROGRAMS


def main() -> None:
    """Compile all files, or those of one format."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--format", choices=("tflite", "onnx", "pt2"))
    chosen = parser.parse_args().format
    for name in [*MODELS, *(f"{name}.pt2" for name in PROGRAMS)]:
        ending = name.rpartition(".")[2]
        if chosen in (None, ending):
            print_outcome(name, ending)


def print_outcome(name: str, ending: str) -> None:
    """Compile one file, and print a line about it."""
    worker = subprocess.run(
        [sys.executable, "-m", "support.demanding_worker", f".{ending}", name],
        cwd=Path(__file__).resolve().parents[1] / "tests/python",
        capture_output=True,
        text=True,
        check=False,
    )
    if worker.returncode:
        print(f"{name:28s} ended with status {worker.returncode}", flush=True)
        return
    _, size, outcome, message, seconds, memory = json.loads(worker.stdout)
    print(
        f"{name:28s} {size:7d} bytes {seconds:6.1f} s {memory >> 20:5d} MB  {outcome} {message}",
        flush=True,
    )


if __name__ == "__main__":
    main()
