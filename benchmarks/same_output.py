"""Compare the builds of this checkout and another one: files, RAM and CPU seconds.

Both build each public model of USMP_SHARED (by default ../shared), and random models, for three
targets. Print the builds in which a file of the archive or the error differs, the builds whose RAM
differs, and the ratio of the CPU seconds of this checkout to those of the other one.

    python benchmarks/same_output.py OTHER_CHECKOUT [--random N] [--times N] [--only TEXT] [--ram]
        [--sizes] [--config KEY=VALUE ...]

The exit status is 1 if a file differs. With --ram, it is 1 if a build needs more RAM or is newly
refused; with --sizes, also if it needs more bytes of code and constants for a Cortex-M. The C++ of
both checkouts must be built in place.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.idle_workers import map_with_workers

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("USMP_SHARED", ROOT.parent / "shared"))
EXAMPLE = ROOT / "examples/digits/digits_int8.tflite"
TARGETS = ("c", "c -mcpu=cortex-m4", "c -mcpu=cortex-m55")

SERVER = """
import json, os, sys
from importlib import import_module
import usmp
from tvm.ir.transform import PassContext

checkout, example, config = sys.argv[1:]
sys.path.append(os.path.join(checkout, "tests/python"))
assert usmp.__file__ == os.path.join(checkout, "python/usmp/__init__.py"), usmp.__file__
# So that all modules are loaded, which takes longer than a small model does.
usmp.build(usmp.import_model(example), "c")
for line in sys.stdin:
    model, target, archive = json.loads(line)
    child = os.fork()
    if child == 0:
        try:
            if model.endswith(".network"):
                module, function, seed = open(model).read().split()
                mod = getattr(import_module(module), function)(int(seed))
            else:
                mod = usmp.import_model(model)
            with PassContext(config=json.loads(config)):
                usmp.export_model_library_format(usmp.build(mod, target), archive)
        except BaseException as error:
            with open(archive + ".error", "w") as file:
                file.write(f"{type(error).__name__}: {error}")
        os._exit(0)
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([status, usage.ru_utime + usage.ru_stime]), flush=True)
"""
"""A program that builds each input line (model, target, archive) in a fork, with TVM loaded."""


@dataclass(frozen=True)
class Built:
    """A model that a checkout built.

    Parameters
    ----------
    files
        name -> content of the files in the archive; only "error" if the model was refused.
    ram_bytes
        bytes of the workspace, inputs, outputs and states; None if the model was refused.
    seconds
        CPU seconds of the build.
    """

    files: dict[str, bytes]
    ram_bytes: int | None
    seconds: float

    def flash_bytes(self, target: str) -> int:
        """Compile the C; return its bytes of code and constants, 0 if the model was refused."""
        core = re.search(r"-mcpu=(\S+)", target)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in self.files.items():
                if name.startswith("./codegen/host/"):
                    Path(folder, Path(name).name).write_bytes(content)
            sources = sorted(map(str, Path(folder).glob("*.c")))
            if not sources:
                return 0
            flags = [f"-mcpu={core[1] if core else 'cortex-m4'}", "-mthumb", "-mfloat-abi=hard"]
            link = ["-nostdlib", "-r", "-o", f"{folder}/all.o"]
            subprocess.run(["arm-none-eabi-gcc", "-Os", *flags, *link, *sources], check=True)
            sections = subprocess.run(
                ["arm-none-eabi-size", "-A", f"{folder}/all.o"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        sizes = re.findall(r"^\.(?:text|rodata)\S*\s+(\d+)", sections, re.MULTILINE)
        return sum(map(int, sizes))

    def different(self, other: Built) -> list[str]:
        """Return the names of files that differ, with the keys of metadata that differ."""
        names = sorted(self.files.keys() | other.files.keys())
        differing = [name for name in names if self.files.get(name) != other.files.get(name)]
        return [f"{name} ({self._keys(other, name)})" for name in differing]

    def _keys(self, other: Built, name: str) -> str:
        if not name.endswith(".json") or name not in self.files or name not in other.files:
            return f"{len(other.files.get(name, b''))} -> {len(self.files.get(name, b''))} bytes"
        return ", ".join(_different_keys(*(json.loads(b.files[name]) for b in (other, self))))


def _different_keys(before: object, after: object, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _different_keys(before.get(key), after.get(key), f"{path}.{key}".strip("."))
    elif before != after:
        yield path


class Builder:
    """A process that builds with the Python code of a checkout."""

    def __init__(self, checkout: Path, config: dict[str, str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "python")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(checkout), str(EXAMPLE), json.dumps(config)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def build(self, model: Path, target: str) -> Built:
        """Build a model."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "model.tar")
            self._process.stdin.write(json.dumps([str(model), target, str(archive)]) + "\n")
            self._process.stdin.flush()
            status, seconds = json.loads(self._process.stdout.readline())
            if not archive.exists():
                error = Path(f"{archive}.error")
                text = error.read_bytes() if error.exists() else f"status {status}".encode()
                return Built({"error": text}, None, seconds)
            with tarfile.open(archive) as tar:
                members = [member for member in tar.getmembers() if member.isfile()]
                files = {m.name: f.read() for m in members if (f := tar.extractfile(m))}
        return Built(files, _ram_bytes(files), seconds)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _ram_bytes(files: dict[str, bytes]) -> int:
    [metadata] = [content for name, content in files.items() if name.endswith("metadata.json")]
    modules = json.loads(metadata)["modules"].values()
    return sum(module["memory"]["ram"]["size_bytes"] for module in modules)


def models(folder: Path, number: int) -> Iterator[Path]:
    """Yield the public models, then random models, which are written into a folder."""
    for path in sorted((SHARED / "models").iterdir()):
        if path.suffix in (".tflite", ".onnx", ".pt2"):
            yield path
    from support.onnx_integer_graphs import random_integer_graph
    from support.random_signatures import random_signatures
    from support.random_streaming import random_streaming

    makers = {
        # Build networks from seeds, because a checkout may not know attributes of the other one.
        "channels-{}.network": "support.channel_networks random_network {}".format,
        "window-{}.network": "support.time_networks random_time_network {}".format,
        "chain-{}.tflite": random_streaming,
        "entries-{}.tflite": random_signatures,
        "graph-{}.onnx": lambda seed: random_integer_graph(seed)[0],
    }
    for seed, (name, make) in product(range(number // len(makers)), makers.items()):
        path = folder / name.format(seed)
        content = make(seed)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        yield path


def main() -> None:
    """Print the differences."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("OTHER", type=Path, help="the other checkout")
    parser.add_argument("--random", type=int, default=60, metavar="N", help="random models")
    parser.add_argument("--times", type=int, default=1, help="builds in pairs, for CPU seconds")
    parser.add_argument("--only", default="", metavar="TEXT", help="models with this in their name")
    parser.add_argument("--ram", action="store_true", help="files may differ")
    parser.add_argument("--sizes", action="store_true", help="files may differ, and are compiled")
    parser.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="of the PassContext"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    other_checkout = options.OTHER.resolve()
    if not (other_checkout / "python/usmp/__init__.py").exists():
        parser.error(f"{options.OTHER}: no checkout of usmp, which has python/usmp/__init__.py")
    may_differ = options.ram or options.sizes
    config = dict(option.split("=", 1) for option in options.config)
    pairs = [
        tuple(Builder(checkout, config) for checkout in (other_checkout, ROOT))
        for _ in range(options.jobs)
    ]

    def compared(
        pair: tuple[Builder, Builder], case: tuple[Path, str]
    ) -> list[tuple[Built, Built]]:
        return [(pair[0].build(*case), pair[1].build(*case)) for _ in range(options.times)]

    number, failures, ratios = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            path for path in models(Path(folder), options.random) if options.only in path.name
        ]
        cases = list(product(chosen, TARGETS))
        if not cases:
            parser.error(f"no model has {options.only!r} in its name")
        builds = map_with_workers(pairs, compared, cases)
        for (path, target), built in zip(cases, builds, strict=True):
            other, this = built[0]
            number += 1
            ratios.append(median(b.seconds / a.seconds for a, b in built))
            name = f"{path.name}, {re.sub('.*=', '', target)}"
            if options.times > 1:
                print(f"{ratios[-1]:5.2f} of the CPU seconds: {name}")
            differing = this.different(other)
            more = other.ram_bytes is not None and (
                this.ram_bytes is None or this.ram_bytes > other.ram_bytes
            )
            if options.sizes:
                before, after = (built.flash_bytes(target) for built in (other, this))
                if before != after:
                    print(f"{name}: {before} -> {after} bytes of code and constants")
                more |= after > before
            failures += more if may_differ else bool(differing)
            if this.ram_bytes != other.ram_bytes:
                print(f"{name}: {other.ram_bytes} -> {this.ram_bytes} bytes of RAM")
            if differing and not may_differ:
                print(f"{name}: " + "; ".join(differing))
            sys.stdout.flush()
    for builder in chain.from_iterable(pairs):
        builder.close()
    refused = "takes more or is refused" if may_differ else "differs"
    print(f"{number} builds, {failures} {refused}; CPU seconds: median ratio {median(ratios):.2f}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
