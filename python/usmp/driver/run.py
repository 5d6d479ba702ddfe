"""`tvmc run`: build an archive for this host and run it."""

from __future__ import annotations

import argparse
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

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
    module = load_archive(options.FILE).load()
    given = _load_inputs(options.inputs) if options.inputs else {}
    inputs = _fill(module, given, options.fill_mode)
    start = time.perf_counter()
    outputs = module.run(inputs)
    elapsed = time.perf_counter() - start
    if options.outputs:
        _save(Path(options.outputs), outputs)
    else:
        for name, value in outputs.items():
            print(f"{name}: {value.dtype}{list(value.shape)}\n{value}")
    if options.print_time:
        print(f"Run time: {elapsed * 1000:.3f} ms")


def _load_inputs(path: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise UsageError(f"{path}: not an .npz file")
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path}: not an .npz file of arrays ({error})") from error


def _fill(module: HostModule, given: Mapping[str, np.ndarray], mode: str) -> dict[str, np.ndarray]:
    inputs = dict(given)
    generator = np.random.default_rng(_SEED)
    for name, info in module.inputs.items():
        if name not in inputs:
            inputs[name] = _filled(info, mode, generator)
    return inputs


def _filled(info: Mapping[str, Any], mode: str, generator: np.random.Generator) -> np.ndarray:
    dtype = np.dtype(info["dtype"])
    if mode == "zeros":
        return np.zeros(info["shape"], dtype)
    if mode == "ones":
        return np.ones(info["shape"], dtype)
    if dtype.kind == "f":
        return generator.random(info["shape"]).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, info["shape"]).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, info["shape"], dtype, endpoint=True)


def _save(path: Path, outputs: Mapping[str, np.ndarray]) -> None:
    """Write all outputs or no file."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            np.savez(file, **outputs)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"{path}: {error.strerror}") from error
