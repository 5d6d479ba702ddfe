"""Imports mutants of consecutive seeds and prints what becomes of each, a line of JSON a mutant.

Run by `tflite_fuzzing.sweep`: whatever a mutant does to this process ends only this process.

    python tflite_fuzz_worker.py FIRST COUNT OF_REAL BUILT
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from random import Random

import usmp
from support.tflite_differences import LONGEST_MESSAGE, compare
from support.tflite_mutations import Mutant, draw_mutant
from usmp.frontend.tflite.importer import import_tflite

MEMORY_BYTES = 1 << 30
"""What a mutant may take beyond what the importer itself does."""
FAULT = "fault in usmp"


def outcome_of(mutant: Mutant, seed: int, built: float) -> tuple[str, str]:
    """What becomes of a mutant, in a word or two, and the message."""
    try:
        mod = import_tflite(mutant.content)
    except usmp.UnsupportedModelError as error:
        return _refusal(str(error)), str(error)
    except BaseException as error:  # whatever else it is, it is a finding
        return "exception", f"{type(error).__name__}: {error}"
    if Random(seed).random() >= built:
        return "imported", ""
    return compare(mutant.content, mod, seed)


def _refusal(message: str) -> str:
    if FAULT in message:
        return "fault"
    if "\n" in message or not 10 < len(message) <= LONGEST_MESSAGE:
        return "unclear message"
    return "refused"


def main(first: int, count: int, of_real: float, built: float) -> None:
    """Import the mutants; stderr is a file, which stays empty if all is well."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY_BYTES, hard))
    gc.collect()
    gc.freeze()
    print(json.dumps("ready"), flush=True)
    for seed in range(first, first + count):
        start, noise = time.process_time(), os.fstat(2).st_size
        mutant = draw_mutant(seed, of_real)
        kind, message = outcome_of(mutant, seed, built)
        # What fails half-way may say so only when it is let go.
        gc.collect()
        if os.fstat(2).st_size > noise:
            said = Path("/proc/self/fd/2").read_bytes()[noise:]
            kind, message = "noise", said[:2000].decode(errors="replace")
        seconds = time.process_time() - start
        print(json.dumps([seed, kind, message, mutant.what, seconds]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
