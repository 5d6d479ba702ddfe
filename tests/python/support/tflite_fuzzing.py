"""Sweeps over mutants of TFLite files, in processes of their own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST_SECONDS = 20
START_SECONDS = 120
BATCH = 500

CLEAN = (
    "refused",
    "imported",
    "refused when built",
    "built, too large to run",
    "runs, no reference",
    "runs like tflite-micro",
    "runs like LiteRT",
)
"""What may become of a mutant; everything else is a finding."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Parameters
    ----------
    kind
        one of `CLEAN`, or a finding.
    message
        the importer's, or what tells more about a finding.
    what
        the file that the mutant is a copy of, and what was changed.
    """

    seed: int
    kind: str
    message: str
    what: str
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return self.kind in CLEAN


def sweep(first: int, count: int, of_real: float = 0.05, built: float = 0.0) -> Iterator[Outcome]:
    """The outcomes of mutants of consecutive seeds.

    Parameters
    ----------
    of_real
        how often a mutant is one of a real model.
    built
        how often a mutant that imports is also built, run, and compared with
        tflite-micro, or with LiteRT where that does not run it.
    """
    stop = first + count
    while first < stop:
        for outcome in _batch(first, min(BATCH, stop - first), of_real, built):
            yield outcome
            first = outcome.seed + 1


def _batch(first: int, count: int, of_real: float, built: float) -> Iterator[Outcome]:
    """Outcomes until the process ends, or is ended."""
    worker = Path(__file__).with_name("tflite_fuzz_worker.py")
    with tempfile.TemporaryDirectory() as folder:
        noise = Path(folder) / "stderr"
        arguments = [first, count, of_real, built]
        command = [sys.executable, "-X", "faulthandler", str(worker), *map(str, arguments)]
        folders = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
        with (
            noise.open("ab") as stderr,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, env=environment
            ) as process,
        ):
            if _line(process, START_SECONDS) != "ready":
                process.kill()
                raise RuntimeError(f"the process that imports mutants did not start: {command}")
            for seed in range(first, first + count):
                line = _line(process, LONGEST_SECONDS)
                if line is None:
                    alive = process.poll() is None
                    process.kill()
                    status = process.wait()
                    said = noise.read_text(errors="replace")[-2000:]
                    yield Outcome(seed, "hang" if alive else f"crash ({status})", said, "?", 0)
                    return
                yield Outcome(*line)


def _line(process: subprocess.Popen[bytes], seconds: float) -> object:
    """The next line of JSON; None if the process says nothing for so long, or ends."""
    assert process.stdout is not None
    text = b""
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        piece = os.read(process.stdout.fileno(), 1) if ready else b""
        if not piece:
            if not ready:
                return None
            process.wait()
            return None
        text += piece
    return json.loads(text)
