"""Prints the CPU seconds and the memory that builds take, in pairs with another checkout.

Models are the public ones of USMP_SHARED (by default ../shared) whose names contain a TEXT, files,
and networks that USMP_SHARED/tools/networks.py makes: `chain:100` are 100 convolutions in a chain;
kinds are chain, mobile, resnet, densenet, unet. Each build runs in a fork of a process that has
loaded TVM and built a small model, so that no module is loaded meanwhile. Memory is what a process
of its own has at the most, less what it has after `import tvm`.

    python benchmarks/compile_time.py [MODEL ...] [--other CHECKOUT] [--times N] [--explain]

Without a MODEL: the five of MLPerf Tiny, mcunet, squeezenet, a chain of 100 convolutions. Of
networks of one kind and several lengths, the exponent of the seconds is printed, too. CPU seconds
differ by a fifth from run to run on a machine that does other work: compare ratios.
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
"""Works in forks, on a model a line; answers the user CPU seconds."""

ONCE = """
work(json.loads(sys.stdin.readline()))
print(usage().ru_maxrss - base)
"""
"""Works on one model; answers the kilobytes."""


class Checkout:
    """Processes with the Python of a checkout."""

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
        """Build a model; None if it is refused."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(str(model)) + "\n")
        self._server.stdin.flush()
        seconds: float | None = json.loads(self._server.stdout.readline())
        return seconds

    def megabytes(self, model: Path) -> float:
        """Build a model that is not refused."""
        answer, _ = self._start(ONCE).communicate(json.dumps(str(model)) + "\n")
        return int(answer) / 1024

    def close(self) -> None:
        """End the process."""
        self._server.communicate()


def models(texts: list[str], folder: Path) -> list[tuple[str, Path]]:
    """Find or make the models that texts name, with their names."""
    found: list[tuple[str, Path]] = []
    public = sorted(p for p in (SHARED / "models").glob("*") if p.suffix in (".tflite", ".onnx"))
    for text in texts:
        kind, _, length = text.partition(":")
        if length.isdigit():
            path = folder / f"{kind}{length}.tflite"
            maker = SHARED / "tools/networks.py"
            command = [sys.executable, maker, kind, length, path]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            found.append((text, path))
        elif Path(text).is_file():
            found.append((Path(text).stem, Path(text).resolve()))
        else:
            found += [(path.stem, path) for path in public if text in path.stem]
    return found


def exponents(seconds: dict[str, float]) -> dict[str, float]:
    """Return by which power of its length the seconds of a kind of network grow, from the
    shortest to the longest."""
    by_kind: dict[str, list[tuple[int, float]]] = {}
    for name, value in seconds.items():
        kind, _, length = name.partition(":")
        if length.isdigit():
            by_kind.setdefault(kind, []).append((int(length), value))
    found = {}
    for kind, points in by_kind.items():
        (short, fast), (long, slow) = min(points), max(points)
        if long > short:
            found[kind] = math.log(slow / fast) / math.log(long / short)
    return found


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
            runs = [[each.seconds(path) for each in checkouts] for _ in range(options.times)]
            done = [[run for run in row if run is not None] for row in runs]
            if any(len(row) < len(checkouts) for row in done):
                print(f"{name:32}   refused")
                continue
            seconds = [median(row[i] for row in done) for i in range(len(checkouts))]
            ratio = [median(row[-1] / row[0] for row in done)] if len(checkouts) > 1 else []
            sizes = [each.megabytes(path) for each in checkouts]
            known[name] = seconds[-1]
            figures = "".join(f"{figure:10.2f}" for figure in (*seconds, *ratio))
            print(f"{name:32}{figures}" + "".join(f"{size:10.0f}" for size in sizes), flush=True)
    for kind, power in exponents(known).items():
        print(f"{kind}: seconds grow with the power {power:.2f} of its length")
    for each in checkouts:
        each.close()


if __name__ == "__main__":
    main()
