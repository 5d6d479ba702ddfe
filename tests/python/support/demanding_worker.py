"""Compiles the demanding files of some kinds, and prints a line of JSON for each.

Each line has the name, what the file takes, what became of it, the message, the processor seconds
and the bytes of memory that it took.

    python -m support.demanding_worker .tflite|.onnx|.pt2[,...] [NAME ...]
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import usmp
from support.demanding_models import MODELS

MOST_SECONDS = 300


def main(endings: list[str], names: list[str]) -> None:
    """Compile them; the system ends this process if it takes too long."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    made = {name: make for name, make in MODELS.items() if Path(name).suffix in endings}
    if ".pt2" in endings:
        from support.demanding_programs import PROGRAMS

        made |= {f"{name}.pt2": make for name, make in PROGRAMS.items()}
    for name in names or made:
        content = made[name]()
        start, before = time.process_time(), _peak()
        outcome, message = _outcome(name, content)
        seconds = round(time.process_time() - start, 1)
        print(
            json.dumps([name, len(content), outcome, message, seconds, _peak() - before]),
            flush=True,
        )


def _outcome(name: str, content: bytes) -> tuple[str, str]:
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            usmp.build(usmp.import_model(path))
        except usmp.UnsupportedModelError as error:
            return "refused", str(error).removeprefix(f"{path}: ")
        except Exception as error:  # whatever else it is, it is a finding
            return type(error).__name__, str(error)
    return "compiled", ""


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(sys.argv[1].split(","), sys.argv[2:])
