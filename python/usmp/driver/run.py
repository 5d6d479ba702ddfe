"""`tvmc run`: build an archive for this host and run it."""

from __future__ import annotations

import argparse
import io
import time
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from usmp.codegen.write_file import write_file
from usmp.driver.errors import UsageError
from usmp.runtime import HostModule, load_archive

FILL_MODES = ("random", "zeros", "ones")
_SEED = 0


def add_run_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "run",
        help="run a compiled model on this host",
        description="Build the C of an archive with the host's compiler ($CC, or cc) and run it.",
    )
    parser.set_defaults(command=run_model)
    parser.add_argument("FILE", help="an archive that tvmc compile wrote")
    parser.add_argument(
        "--module-name", help="which model of an archive that holds several (the only one)"
    )
    parser.add_argument("-i", "--inputs", help="a .npz file with an array for each input")
    parser.add_argument("-o", "--outputs", help="the .npz file to write the outputs to")
    parser.add_argument(
        "--fill-mode",
        default="random",
        choices=FILL_MODES,
        help="what inputs hold that --inputs does not give (random, always the same)",
    )
    parser.add_argument("--print-time", action="store_true", help="print the time of a run")


def run_model(options: argparse.Namespace) -> None:
    """Carry out the command."""
    module = load_archive(options.FILE).load(options.module_name)
    given = _load_inputs(options.inputs) if options.inputs else {}
    inputs = _fill(module, given, options.fill_mode)
    start = time.perf_counter()
    outputs = module.run(inputs)
    elapsed = time.perf_counter() - start
    if options.outputs:
        _save(options.outputs, outputs)
    else:
        for name, value in outputs.items():
            print(f"{name}: {value.dtype}{list(value.shape)}\n{value}")
    if options.print_time:
        print(f"Run time: {elapsed * 1000:.3f} ms")


def _load_inputs(path: str) -> dict[str, np.ndarray]:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it holds one array without a name; use numpy.savez")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except Exception as error:
        # A damaged file can make zipfile and numpy raise almost anything.
        raise UsageError(f"{path}: not an .npz file of arrays ({error})") from error


def _fill(module: HostModule, given: Mapping[str, np.ndarray], mode: str) -> dict[str, np.ndarray]:
    inputs = dict(given)
    generator = np.random.default_rng(_SEED)
    for name, info in module.inputs.items():
        if name not in inputs:
            inputs[name] = _filled(info, mode, generator)
    return inputs


def _filled(info: Mapping[str, Any], mode: str, generator: np.random.Generator) -> np.ndarray:
    dtype, shape = np.dtype(info["dtype"]), tuple(info["shape"])
    if mode != "random":
        return np.full(shape, 0 if mode == "zeros" else 1, dtype)
    if dtype.kind == "f":
        return generator.random(shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    values: np.ndarray = generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return values


def _save(path: str, outputs: Mapping[str, np.ndarray]) -> None:
    """Write all outputs or no file.

    Not by `numpy.savez`, which takes no array that is called "file" or "allow_pickle".
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in outputs.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, value, allow_pickle=False)
    try:
        write_file(path, content.getvalue())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
