"""Measure the CPU seconds and the memory of builds, optionally in pairs with another checkout.

A MODEL is a file, a part of the name of public models in USMP_SHARED (by default ../shared), or a
network that USMP_SHARED/tools/networks.py creates: `chain:100` is a chain of 100 convolutions;
kinds are chain, mobile, resnet, densenet, unet. Each build runs in a fork of a process that has
loaded TVM and built a small model, so that loading of modules is not measured. Memory is the peak
of a separate process, less its memory after `import tvm`.

    python benchmarks/compile_time.py [MODEL ...] [--other CHECKOUT] [--times N] [--explain]

Without a MODEL: the five of MLPerf Tiny, mcunet, squeezenet, a chain of 100 convolutions. For
networks of one kind with several lengths, the exponent of the seconds is printed, too. CPU seconds
vary by a fifth between runs on a busy machine, so compare ratios.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("USMP_SHARED", ROOT.parent / "shared"))
EXAMPLE = ROOT / "examples/digits/digits_int8.tflite"
DEFAULT = (
    *("mlperf_ad01_int8", "mlperf_kws_int8", "mlperf_resnet8_int8", "mlperf_strww_int8"),
    *("mlperf_vww_96_int8", "mcunet_vww_int8", "onnx_light_squeezenet", "chain:100"),
)

WORK = """
import json, os, resource, sys
import tvm

def usage():
    return resource.getrusage(resource.RUSAGE_SELF)

base = usage().ru_maxrss
import usmp
checkout, example, explains = sys.argv[1:]
assert usmp.__file__ == os.path.join(checkout, "python/usmp/__init__.py"), usmp.__file__

def work(model):
    mod = usmp.import_model(model)
    before = usage().ru_utime
    usmp.explain(mod) if explains == "1" else usmp.build(mod, "c")
    return usage().ru_utime - before
"""

SERVER = """
usmp.build(usmp.import_model(example), "c")
for line in sys.stdin:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(work(json.loads(line))).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        print(answer.read() or "null", flush=True)
    os.wait()
"""
"""A program that builds a model for each input line in a fork, and prints its user CPU seconds."""

ONCE = """
work(json.loads(sys.stdin.readline()))
print(usage().ru_maxrss - base)
"""
"""A program that builds one model, and prints the kilobytes of memory."""


class Checkout:
    """Processes that build with the Python code of a checkout."""

    def __init__(self, folder: Path, explains: bool) -> None:
        self._arguments = [str(folder), str(EXAMPLE), str(int(explains))]
        self._environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
        self._server = self._start(SERVER)

    def _start(self, program: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", WORK + program, *self._arguments],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, model: Path) -> float | None:
        """Return the CPU seconds of a build; None if the model is refused."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(str(model)) + "\n")
        self._server.stdin.flush()
        seconds: float | None = json.loads(self._server.stdout.readline())
        return seconds

    def megabytes(self, model: Path) -> float:
        """Return the megabytes of a build; the model must not be refused."""
        answer, _ = self._start(ONCE).communicate(json.dumps(str(model)) + "\n")
        return int(answer) / 1024

    def close(self) -> None:
        """End the server process."""
        self._server.communicate()


def models(texts: list[str], folder: Path) -> list[tuple[str, Path]]:
    """Find or create the models of command-line arguments; return their names and paths."""
    cases: list[tuple[str, Path]] = []
    public = sorted(p for p in (SHARED / "models").glob("*") if p.suffix in (".tflite", ".onnx"))
    for text in texts:
        kind, _, length = text.partition(":")
        if length.isdigit():
            path = folder / f"{kind}{length}.tflite"
            maker = SHARED / "tools/networks.py"
            command = [sys.executable, maker, kind, length, path]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            cases.append((text, path))
        elif Path(text).is_file():
            cases.append((Path(text).stem, Path(text).resolve()))
        else:
            cases += [(path.stem, path) for path in public if text in path.stem]
    return cases


def exponents(seconds: dict[str, float]) -> dict[str, float]:
    """Return, for each kind of network, the exponent with which the seconds grow with its length,
    from the shortest to the longest."""
    by_kind: dict[str, list[tuple[int, float]]] = {}
    for name, value in seconds.items():
        kind, _, length = name.partition(":")
        if length.isdigit():
            by_kind.setdefault(kind, []).append((int(length), value))
    powers = {}
    for kind, points in by_kind.items():
        (short, fast), (long, slow) = min(points), max(points)
        if long > short:
            powers[kind] = math.log(slow / fast) / math.log(long / short)
    return powers


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("MODEL", nargs="*", help="part of a public name, a file, or KIND:LENGTH")
    parser.add_argument("--other", type=Path, metavar="CHECKOUT", help="compare with it")
    parser.add_argument("--times", type=int, default=3, help="builds, of which the median is taken")
    parser.add_argument("--explain", action="store_true", help="explain models, too")
    options = parser.parse_args()
    folders = [ROOT] if options.other is None else [options.other.resolve(), ROOT]
    checkouts = [Checkout(folder, options.explain) for folder in folders]
    of_pairs = ["other", "this", "ratio", "other MB", "MB"]
    columns = ["seconds", "MB"] if len(checkouts) == 1 else of_pairs
    known: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        cases = models(options.MODEL or list(DEFAULT), Path(folder))
        if not cases:
            parser.error(f"no model of {SHARED / 'models'} is meant by {' '.join(options.MODEL)}")
        print(f"{'model':32}" + "".join(f"{column:>10}" for column in columns))
        for name, path in cases:
            runs = [[side.seconds(path) for side in checkouts] for _ in range(options.times)]
            done = [[run for run in row if run is not None] for row in runs]
            if any(len(row) < len(checkouts) for row in done):
                print(f"{name:32}   refused")
                continue
            seconds = [median(row[i] for row in done) for i in range(len(checkouts))]
            ratio = [median(row[-1] / row[0] for row in done)] if len(checkouts) > 1 else []
            sizes = [checkout.megabytes(path) for checkout in checkouts]
            known[name] = seconds[-1]
            figures = "".join(f"{figure:10.2f}" for figure in (*seconds, *ratio))
            print(f"{name:32}{figures}" + "".join(f"{size:10.0f}" for size in sizes), flush=True)
    for kind, power in exponents(known).items():
        print(f"{kind}: seconds grow with the power {power:.2f} of its length")
    for checkout in checkouts:
        checkout.close()


if __name__ == "__main__":
    main()
