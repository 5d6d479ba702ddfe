"""Measure the bytes that overlap and interleaved operators save, and the time that overlap costs.

    python benchmarks/overlap.py [--alignment=16] [--target=c] MODEL ...
    python benchmarks/overlap.py --speed [--flags=-O2] MODEL ...

The table has peak workspace bytes, inputs and outputs included (`tir.usmp.use_workspace_io`):
without `OverlapInputsAndOutputs` and `StreamOperators`, with the first, and with both. It
also has the lower bound of the last plan; the lower bound over all choices of interleaved
operators; the peak if the application passes the inputs row by row, where possible; and the arena
of TFLite Micro's interpreter for the same file, and the tensors in it ("head"). The last line is
the geometric mean of bytes divided by the arena, with whole inputs if rows are not possible.

With --speed: CPU time of a run of the C with overlap, divided by that without, both without
interleaved operators. They run in turn in one process, and take turns in running first. The result
is the median over the pairs of runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean, median

from memory import tflite_micro_bytes
from random_inputs import random_inputs
from rich.console import Console
from rich.table import Table
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from usmp.objects import Executor
from usmp.runtime import HostModule

SECONDS = 8.0
LEAST_PAIRS = 21


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--alignment", type=int, default=16, help="of buffers, in bytes (16)")
    parser.add_argument("--target", default="c", help="of the bytes (c)")
    parser.add_argument("--speed", action="store_true", help="CPU time instead of bytes")
    parser.add_argument("--flags", default="-O2", help="for the C compiler (-O2)")
    options = parser.parse_args()
    executor = Executor("aot", {"workspace-byte-alignment": options.alignment})
    if options.speed:
        print_times(options.models, executor, options.flags.split())
    else:
        print_peaks(options.models, executor, options.target)


def built(
    mod: IRModule,
    executor: Executor,
    overlap: bool,
    streaming: bool = False,
    target: str = "c",
    stream_inputs: Sequence[str] = (),
) -> usmp.AOTExecutorFactoryModule:
    """Build the model with inputs and outputs in its workspace, except inputs passed by rows."""
    config = {"tir.usmp.use_workspace_io": True, "tir.usmp.stream_inputs": list(stream_inputs)}
    passes = {"OverlapInputsAndOutputs": overlap, "StreamOperators": streaming}
    disabled = [name for name, runs in passes.items() if not runs]
    with PassContext(opt_level=3, config=config, disabled_pass=disabled):
        return usmp.build(mod, target, executor=executor)


def by_rows(mod: IRModule, executor: Executor, target: str, names: Sequence[str]) -> int | None:
    """Return the peak bytes with inputs by rows; None if an operator needs whole inputs."""
    try:
        factory = built(mod, executor, True, True, target, names)
    except ValueError as error:
        if "leave it out of tir.usmp.stream_inputs" not in str(error):
            raise
        return None
    return factory.interface.workspace_size_bytes


def print_peaks(paths: list[Path], executor: Executor, target: str) -> None:
    """Print the table of bytes."""
    title = f"Peak workspace bytes, buffers aligned to {executor.workspace_byte_alignment}"
    table = Table(title=title, title_justify="left")
    theirs = ("TFLM arena", "TFLM tensors")
    ours = ("no overlap", "overlap", "interleaved", "lower bound", "optimal")
    for heading in ("model", *theirs, *ours, "no choice below", "input by rows"):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    ratios: list[list[float]] = []
    for path in paths:
        mod = usmp.import_model(path)
        factories = [
            built(mod, executor, overlap, streaming, target)
            for overlap, streaming in ((False, False), (True, False), (True, True))
        ]
        plan = factories[-1].memory_plan
        pools = [str(p.name) for p in factories[-1].interface.pools if not p.is_constant]
        bounds = [plan.pool_bounds[name] for name in pools]
        streaming = factories[-1].metadata["modules"]["default"]["memory"].get("streaming", {})
        arena, head = tflite_micro_bytes(path) if path.suffix == ".tflite" else (None, "")
        peaks = [factory.interface.workspace_size_bytes for factory in factories]
        names = [str(tensor.info.name) for tensor in factories[-1].interface.inputs]
        rows = by_rows(mod, executor, target, names)
        ratios += [[bytes_ / arena for bytes_ in (*peaks, rows or peaks[-1])]] if arena else []
        table.add_row(
            path.stem,
            str(arena or ""),
            str(head),
            *map(str, peaks),
            str(sum(bound.lower_bound_bytes for bound in bounds)),
            "yes" if all(bound.optimal for bound in bounds) else "unknown",
            str(streaming.get("least_live_bytes", "")),
            str(rows or ""),
        )
    if ratios:
        means = [geometric_mean(column) for column in zip(*ratios, strict=True)]
        *means, with_rows = (f"{mean:.2f}" for mean in means)
        table.add_row("geometric mean / arena", "", "", *means, "", "", "", with_rows)
    Console(width=170).print(table)


def print_times(paths: list[Path], executor: Executor, flags: list[str]) -> None:
    """Print the table of CPU times."""
    title = f"CPU time of one run, C built with {' '.join(flags)}"
    table = Table(title=title, title_justify="left")
    for heading in ("model", "pairs", "no overlap ms", "overlap ms", "overlap / no overlap"):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in paths:
        table.add_row(path.stem, *compare(path, executor, flags))
    Console(width=140).print(table)


def compare(path: Path, executor: Executor, flags: list[str]) -> tuple[str, str, str, str]:
    """Return the number of pairs, the median times in ms, and the median of their ratios."""
    mod = usmp.import_model(path)
    factories = [built(mod, executor, overlap) for overlap in (False, True)]
    modules = [HostModule(f.files(), f.metadata["modules"]["default"], flags) for f in factories]
    inputs = random_inputs(factories[0])
    first, second = (module.run(inputs) for module in modules)
    assert all(first[name].tobytes() == second[name].tobytes() for name in first), path
    times: list[tuple[float, float]] = []
    start = time.monotonic()
    while time.monotonic() - start < SECONDS or len(times) < LEAST_PAIRS:
        pair = [0.0, 0.0]
        for index in (0, 1) if len(times) % 2 else (1, 0):
            begin = time.process_time()
            modules[index].run(inputs)
            pair[index] = time.process_time() - begin
        times.append((pair[0], pair[1]))
    without, with_overlap = (1e3 * median(column) for column in zip(*times, strict=True))
    ratio = median(b / a for a, b in times)
    return str(len(times)), f"{without:.3f}", f"{with_overlap:.3f}", f"{ratio:.3f}"


if __name__ == "__main__":
    main()
