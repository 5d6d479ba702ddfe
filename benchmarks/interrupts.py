"""Interrupt a command by signals at many moments, and check what it leaves behind.

A command must end with status 128 + signal, one line on stderr and its old output, or with status 0
and its new output. It must leave no temporary file and no process. Print the moments at which this
fails, and the longest time that a command took to end.

    python benchmarks/interrupts.py MODEL [--moments N] [--run]
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.interrupted_commands import Ended, after, ended_by

OLD = b"what was there before"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def faults(ended: Ended, number: int, output: Path, new: bytes) -> list[str]:
    """Return the faults of an interrupted command."""
    texts = [f"left in the folder for temporary files: {ended.temporary}"] * bool(ended.temporary)
    texts += [f"processes left: {ended.processes}"] * bool(ended.processes)
    lines = ended.stderr.count("\n")
    content = output.read_bytes()
    if ended.status == 0:
        texts += [f"status 0 and {lines} lines"] * bool(lines)
        texts += ["status 0 and not the new output"] * (content != new)
    else:
        texts += [f"status {ended.status}"] * (ended.status != 128 + number)
        texts += [f"{lines} lines: {ended.stderr[-200:]!r}"] * (lines != 1)
        texts += ["not the old output"] * (content != OLD)
    beside = [path.name for path in output.parent.iterdir() if path != output]
    return texts + [f"left beside the output: {beside}"] * bool(beside)


def main() -> None:
    """Interrupt the command at moments that are spread over its whole time."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("MODEL", type=Path)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--run", action="store_true", help="interrupt tvmc run, not tvmc compile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output = folder / "output/out.npz"
        output.parent.mkdir()
        archive = folder / "model.tar"
        arguments = ["compile", options.MODEL.resolve(), "-o", archive if options.run else output]
        started = time.monotonic()
        whole = ended_by(arguments, folder, lambda process: process.wait())
        assert whole.status == 0, whole.stderr
        if options.run:
            arguments = ["run", archive, "-o", output]
            started = time.monotonic()
            whole = ended_by(arguments, folder, lambda process: process.wait())
            assert whole.status == 0, whole.stderr
        seconds = time.monotonic() - started
        new = output.read_bytes()
        statuses: Counter[int] = Counter()
        slowest = 0.0
        for index in range(options.moments):
            output.write_bytes(OLD)
            number = SIGNALS[index % 2]
            signals = [number] * (1 + index // 2 % 2)
            moment = seconds * index / options.moments
            ended = ended_by(arguments, folder, after(moment), *signals)
            statuses[ended.status] += 1
            slowest = max(slowest, ended.seconds)
            for fault in faults(ended, number, output, new):
                print(f"after {moment:.3f} s, {number.name}: {fault}")
    print(f"{options.moments} moments in {seconds:.1f} s; statuses {dict(statuses)}")
    print(f"slowest end {slowest:.2f} s after the signal")


if __name__ == "__main__":
    main()
