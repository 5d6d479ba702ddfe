"""`tvmc` for Python, with the names and arguments that TVM's had: load, compile, run."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.model import TVMCModel, TVMCPackage, TVMCResult
from usmp.driver.output import written
from usmp.driver.pass_config import pass_context
from usmp.names import FLOAT

if TYPE_CHECKING:
    import numpy as np
    from tvm.ir import IRModule
    from tvm.target import Target

    from usmp import ConstantMemoryPools, Executor, WorkspaceMemoryPools, WorkspacePoolInfo
    from usmp.objects.state_layout import StateLayout

_ENDINGS = {"tflite": ".tflite", "onnx": ".onnx", "pytorch": ".pt2"}
"""TVM's names of model formats, and the files that they mean here."""

_NO_TUNING = "nothing is tuned, so there are no records"
_NO_CROSS = "the archive holds C for your own toolchain"
_NO_DUMP = "the archive holds the C, and the planned TIR in src/"
_NO_REMOTE = "models run on this host"

_GONE: dict[str, Mapping[str, str]] = {
    "compile": {
        "tuning_records": _NO_TUNING,
        "cross": _NO_CROSS,
        "cross_options": _NO_CROSS,
        "target_host": "the main function runs on the target",
        "dump_code": _NO_DUMP,
        "dump_offloads": _NO_DUMP,
        "use_vm": "aot is the only executor",
        "additional_target_options": 'write options into target, as "llvm -mcpu=cortex-m3"',
        "desired_layout": "operators keep the layout of the model",
        "mixed_precision": "operators keep the types of the model",
    },
    "run": {
        "hostname": _NO_REMOTE,
        "port": _NO_REMOTE,
        "rpc_key": _NO_REMOTE,
        "profile": "compile with tir.usmp.profile, and call usmp.runtime.profile_on_host",
        "end_to_end": "times are those of the model alone",
    },
}
"""Arguments that TVM's functions took and these cannot, with the reason."""


def load(
    path: str | Path | Mapping[str, str | Path],
    model_format: str | None = None,
    *,
    trust: bool = False,
    max_model_bytes: int | None = None,
    max_operators: int | None = None,
    max_sizes: Mapping[str, int | None] | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    **unsupported: object,
) -> TVMCModel:
    """Read a model file.

    Parameters
    ----------
    path
        a .tflite, .onnx or .pt2 file; or several .pt2 files by name, methods of one PyTorch
        module that share what any of them changes.
    model_format
        "tflite", "onnx" or "pytorch"; the ending of the file must say the same.
    trust, max_model_bytes, max_operators, max_sizes
        as `usmp.import_model` takes them.
    shape_dict
        the shapes of inputs, by name: its `input_shapes`.

    Raises
    ------
    UsageError
        a format that is not that of the file, or an argument that is not supported.
    UnsupportedModelError
        the file cannot be read or imported.
    """
    _refuse(load.__name__, unsupported)
    for file in path.values() if isinstance(path, Mapping) else [path]:
        if model_format is not None and _ENDINGS.get(model_format) != Path(file).suffix.lower():
            supported = ", ".join(f"{name} ({ending})" for name, ending in _ENDINGS.items())
            raise UsageError(
                f'{file}: the file is not of format "{model_format}"; supported: {supported}'
            )
    from usmp.frontend import import_model

    limits = {"max_model_bytes": max_model_bytes, "max_operators": max_operators}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    mod = import_model(path, trust=trust, max_sizes=max_sizes, input_shapes=shape_dict, **given)
    return TVMCModel(mod, name=None if isinstance(path, Mapping) else Path(path).stem)


def compile(
    tvmc_model: TVMCModel | Sequence[TVMCModel] | Mapping[str, TVMCModel],
    target: str | Target = "c",
    *,
    executor: str | Executor = "aot",
    package_path: str | Path | None = None,
    output_format: str = "mlf",
    pass_context_configs: Sequence[str] | None = None,
    mod_name: str = "default",
    workspace_pools: WorkspaceMemoryPools | None = None,
    constant_pools: ConstantMemoryPools | None = None,
    board: str | None = None,
    state_pool: WorkspacePoolInfo | str | None = None,
    state_layout: StateLayout | str | Path | None = None,
    io_pool: str | None = None,
    concurrent: Sequence[Sequence[str]] = (),
    shared_state: bool = False,
    io_type: str = FLOAT,
    reference: bool | None = None,
    **unsupported: object,
) -> TVMCPackage:
    """Compile a model to C with planned memory, or several that share it.

    Parameters
    ----------
    tvmc_model
        from `load`; or several, by the names of their entries, or in a list: then they are called
        as their files, or `model0`, `model1` and so on.
    target, executor
        as `usmp.build` takes them.
    package_path
        the archive to write; by default one that goes with the package.
    output_format
        "mlf", the Model Library Format.
    pass_context_configs
        pass options, as "tir.usmp.algorithm=hill_climb"; by default those of the
        current `PassContext`.
    mod_name
        prefix of the C symbols.
    workspace_pools, constant_pools, board
        as `usmp.build` takes them.
    state_pool, state_layout
        the `state_memory_pool` and the `state_layout` of `usmp.build`.
    io_pool
        the `io_memory_pool` of `usmp.build`.
    concurrent, shared_state, io_type, reference
        as `usmp.build` takes them.

    Raises
    ------
    UsageError
        an argument that is not supported, or a file that cannot be written.
    UnsupportedModelError, ValueError
        as `usmp.build` raises them.
    """
    _refuse(compile.__name__, unsupported)
    if output_format != "mlf":
        raise UsageError(f'unknown output format "{output_format}"; supported: mlf')
    mods, params = _modules(tvmc_model)
    import usmp

    options = nullcontext() if pass_context_configs is None else pass_context(pass_context_configs)
    with options:
        factory = usmp.build(
            mods,
            target,
            executor,
            workspace_memory_pools=workspace_pools,
            constant_memory_pools=constant_pools,
            params=params,
            module_name=mod_name,
            board=board,
            state_memory_pool=state_pool,
            state_layout=state_layout,
            io_memory_pool=io_pool,
            concurrent=concurrent,
            shared_state=shared_state,
            io_type=io_type,
            reference=reference,
        )
    folder = TemporaryDirectory(prefix="tvmc-") if package_path is None else None
    path = package_path or os.path.join(folder.name if folder else "", "module.tar")
    with written(str(path)):
        factory.export_model_library_format(path)
    return TVMCPackage(path, folder)


def run(
    tvmc_package: TVMCPackage,
    device: str = "cpu",
    *,
    inputs: Mapping[str, np.ndarray] | None = None,
    entry: str | None = None,
    sizes: Mapping[str, int] | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    **unsupported: object,
) -> TVMCResult:
    """Build a package with this host's C compiler and run it.

    Parameters
    ----------
    tvmc_package
        from `compile`.
    device
        "cpu", this host.
    inputs
        arrays of inputs, by name.
    entry
        which entry to run, if there are several.
    sizes
        sizes of a model whose shapes have some; others are those of the inputs, or the largest.
    fill_mode
        "random" (always the same), "zeros" or "ones", for inputs that are not given.
    benchmark
        after the run that gives the outputs, measure `repeat` times the mean time of
        `number` runs; else the time is that of the one run.

    Raises
    ------
    UsageError
        an argument that is not supported, or no package.
    BuildError
        no C compiler, or it reports an error.
    ValueError
        an input is unknown, or of another shape or element type; a size is unknown or out of its
        range; there is no entry of this name, or several and no name.
    """
    _refuse(run.__name__, unsupported)
    if not isinstance(tvmc_package, TVMCPackage):
        raise UsageError("the model is not compiled yet; call tvmc.compile and run what it returns")
    if device != "cpu":
        raise UsageError(f'unknown device "{device}"; supported: cpu, this host')
    from usmp.driver.run import FILL_MODES
    from usmp.driver.run_sizes import fill_run

    if fill_mode not in FILL_MODES:
        raise UsageError(f'unknown fill mode "{fill_mode}"; supported: {", ".join(FILL_MODES)}')
    if repeat < 1 or number < 1:
        raise UsageError(f"repeat and number must be at least 1, not {repeat} and {number}")
    from usmp.objects.entries import chosen_entry

    described = tvmc_package.archive.module()
    entry = chosen_entry(described.name, list(described.entries), entry)
    module = tvmc_package.archive.load()
    filled, all_sizes = fill_run(module.entries[entry], inputs or {}, fill_mode, sizes or {})
    start = time.perf_counter()
    outputs = module.run(filled, entry, all_sizes)
    times = [time.perf_counter() - start]
    if benchmark:
        # Further runs would update the caller's arrays.
        filled = copy.deepcopy(filled)
        times = [_mean_time(module, (filled, entry, all_sizes), number) for _ in range(repeat)]
    return TVMCResult(outputs, times)


def _modules(
    given: TVMCModel | Sequence[TVMCModel] | Mapping[str, TVMCModel],
) -> tuple[IRModule | dict[str, IRModule], Mapping[str, np.ndarray] | None]:
    """What `usmp.build` takes: a module and its parameters, or several by name that have theirs."""
    if isinstance(given, TVMCModel):
        return given.mod, given.params
    if isinstance(given, Sequence):
        models = _by_name(given)
    else:
        models = dict(given) if isinstance(given, Mapping) else {}
    if not models or not all(isinstance(model, TVMCModel) for model in models.values()):
        raise UsageError("tvmc.compile takes a TVMCModel; call tvmc.load with the model's file")
    from usmp.relax.bind_params import bind_params

    return {
        name: bind_params(model.mod, model.params) if model.params else model.mod
        for name, model in models.items()
    }, None


def _by_name(given: Sequence[TVMCModel]) -> dict[str, TVMCModel]:
    """Models in a list, by the names of their files if they are from files."""
    from usmp.objects.entries import entry_name
    from usmp.support.plain_text import shown

    models: dict[str, TVMCModel] = {}
    for number, model in enumerate(given):
        file = getattr(model, "name", None)
        name = f"model{number}" if file is None else entry_name(file)
        if name in models:
            raise UsageError(
                f'two models are called "{shown(name)}"; give a dictionary of names and models'
            )
        models[name] = model
    return models


def _mean_time(module: Any, arguments: Sequence[Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        module.run(*arguments)
    return (time.perf_counter() - start) / number


def _refuse(function: str, arguments: Mapping[str, object]) -> None:
    """Refuse arguments that mean something; "no" in any spelling is what happens anyway."""
    for name, value in arguments.items():
        reason = _GONE[function].get(name)
        if reason is None:
            raise TypeError(f"tvmc.{function}() got an unexpected keyword argument '{name}'")
        if value:
            raise UsageError(f"tvmc.{function}: {name} is not supported: {reason}")
