"""`load`, `compile` and `run` for Python, with the names and arguments of TVM's `tvmc`."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

from usmp.driver.build.compile import check_output_format
from usmp.driver.errors import UsageError, tvmc_exceptions
from usmp.driver.options.pass_settings import PassSettings
from usmp.driver.options.target_options import with_target_options
from usmp.driver.output import written
from usmp.driver.python.input_types import check_input_types
from usmp.driver.python.model import TVMCModel, TVMCPackage, TVMCResult
from usmp.driver.run.output_names import Outputs
from usmp.driver.run.times import measured_times
from usmp.driver.tvm018.arguments import check_format, check_old_arguments
from usmp.names import FLOAT, MODEL_NAMES
from usmp.support.text.known_names import unknown_name
from usmp.tvm018.reasons import TUNING

if TYPE_CHECKING:
    import numpy as np
    from tvm.ir import IRModule
    from tvm.ir.instrument import PassInstrument

    from usmp import (
        ConstantMemoryPools,
        Executor,
        Runtime,
        WorkspaceMemoryPools,
        WorkspacePoolInfo,
    )
    from usmp.objects.target.described_target import OneTarget
    from usmp.plain.state_layout import StateLayout


def load(
    path: str | Path | Mapping[str, str | Path],
    model_format: str | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    *,
    dtype_dict: Mapping[str, str] | None = None,
    trust: bool = False,
    max_model_bytes: int | None = None,
    max_operators: int | None = None,
    max_sizes: Mapping[str, int | None] | None = None,
    **old_arguments: object,
) -> TVMCModel:
    """Read a model file.

    Parameters
    ----------
    path
        a .tflite, .onnx or .pt2 file; or several .pt2 files by name, which are methods of one
        PyTorch module and share the buffers that any of them changes.
    model_format
        "tflite", "onnx" or "pytorch", in agreement with the ending of the file.
    shape_dict
        shapes of inputs by name, as `input_shapes` of `usmp.import_model`.
    dtype_dict
        expected element types of inputs by name, such as "int8".
    trust, max_model_bytes, max_operators, max_sizes
        as in `usmp.import_model`.
    old_arguments
        other arguments of TVM's function; arguments without an effect are accepted with a note.

    Raises
    ------
    UsageError
        the format or an element type does not match the file, or an argument is not supported.
    UnsupportedModelError
        the file cannot be read or imported.
    """
    check_old_arguments(load.__name__, old_arguments)
    if model_format is not None:
        for file in path.values() if isinstance(path, Mapping) else [path]:
            check_format(file, model_format)
    from usmp.frontend import import_model

    limits = {"max_model_bytes": max_model_bytes, "max_operators": max_operators}
    set_limits = {name: limit for name, limit in limits.items() if limit is not None}
    with tvmc_exceptions():
        mod = import_model(
            path, trust=trust, max_sizes=max_sizes, input_shapes=shape_dict, **set_limits
        )
    check_input_types(mod, dtype_dict or {})
    return TVMCModel(mod, name=None if isinstance(path, Mapping) else Path(path).stem)


def compile(
    tvmc_model: TVMCModel | Sequence[TVMCModel] | Mapping[str, TVMCModel],
    target: OneTarget | Sequence[OneTarget] = "c",
    opt_level: int | None = None,
    executor: str | Executor = "aot",
    runtime: str | Runtime | None = None,
    *,
    target_host: OneTarget | None = None,
    package_path: str | Path | None = None,
    output_format: str = "mlf",
    disabled_pass: str | Sequence[str] | None = None,
    pass_context_configs: Sequence[str] | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
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
    c_names: str = MODEL_NAMES,
    instruments: Sequence[PassInstrument] | None = None,
    print_pass_times: bool = False,
    print_ir_before: str | Sequence[str] | None = None,
    print_ir_after: str | Sequence[str] | None = None,
    **old_arguments: object,
) -> TVMCPackage:
    """Compile a model, or several that share memory, to C with planned memory.

    Parameters
    ----------
    tvmc_model
        result of `load`; or several results by the names of their entries, or in a list. Models in
        a list are named after their files, or `model0`, `model1` and so on.
    target, executor, runtime, target_host
        as in `usmp.build`.
    additional_target_options
        further attributes of `target`, such as {"c": {"mcpu": "cortex-m4"}}.
    package_path
        the archive to write; by default a temporary file that lives as long as the package.
    output_format
        "mlf", the Model Library Format.
    pass_context_configs
        pass options, such as "tir.usmp.algorithm=hill_climb"; by default those of the current
        `PassContext`.
    opt_level, disabled_pass, instruments
        settings of the `PassContext`; by default those of the current one, or of a new one if
        `pass_context_configs` is given.
    print_pass_times
        whether to print the time of each pass.
    print_ir_before, print_ir_after
        names of passes before or after which to print the module.
    mod_name
        prefix of the C symbols.
    workspace_pools, constant_pools, board
        as in `usmp.build`.
    state_pool, state_layout
        as `state_memory_pool` and `state_layout` of `usmp.build`.
    io_pool
        as `io_memory_pool` of `usmp.build`.
    concurrent, shared_state, io_type, reference, c_names
        as in `usmp.build`.
    old_arguments
        other arguments of TVM's function; arguments without an effect are accepted with a note.

    Raises
    ------
    UsageError
        an argument is not supported, a file cannot be read or written, or `usmp.build` raises a
        ValueError, which has the same text.
    UnsupportedModelError, DoesNotFitError
        as in `usmp.build`.
    """
    check_old_arguments(compile.__name__, {**old_arguments, "output_format": output_format})
    check_output_format(output_format)
    import usmp

    settings = PassSettings(
        pass_context_configs,
        opt_level,
        disabled_pass,
        instruments,
        print_pass_times,
        print_ir_before,
        print_ir_after,
    )
    if additional_target_options:
        target = with_target_options(target, additional_target_options)
    with tvmc_exceptions(), settings.context():
        mods, params = _modules(tvmc_model)
        factory = usmp.build(
            mods,
            target,
            executor,
            runtime=runtime,
            target_host=target_host,
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
            c_names=c_names,
        )
    folder = TemporaryDirectory(prefix="tvmc-") if package_path is None else None
    path = package_path or os.path.join(folder.name if folder else "", "module.tar")
    with written(str(path)):
        factory.export_model_library_format(path)
    return TVMCPackage(path, folder=folder)


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
    **old_arguments: object,
) -> TVMCResult:
    """Build a package with this host's C compiler and run it.

    Parameters
    ----------
    tvmc_package
        result of `compile`.
    device
        "cpu", this host.
    inputs
        arrays of inputs by name.
    entry
        name of the entry to run; optional if there is only one.
    sizes
        values of symbolic sizes by name; by default those of the inputs, or else the largest.
    fill_mode
        values of inputs that are not given: "random" (always the same), "zeros" or "ones".
    benchmark
        whether to take `repeat` times after the first run, each the mean time of `number` runs.
        By default, the result has the time of the first run.
    old_arguments
        other arguments of TVM's function; arguments without an effect are accepted with a note.

    Raises
    ------
    UsageError
        an argument is not supported; there is no package; an input is unknown, or has another shape
        or element type; a size is unknown or out of range; or the entry is unknown or not named.
    BuildError
        there is no C compiler, or it reports an error.
    RunError
        the model returned an error.
    """
    # An empty value means "no" for other arguments, but an empty device is an error.
    other_device = {} if device == "cpu" else {"device": device or repr(device)}
    check_old_arguments(run.__name__, {**other_device, **old_arguments})
    if not isinstance(tvmc_package, TVMCPackage):
        raise UsageError("the model is not compiled yet; call tvmc.compile and run what it returns")
    from usmp.driver.run.run import FILL_MODES

    if fill_mode not in FILL_MODES:
        problem = f'unknown fill mode "{fill_mode}"'
        raise UsageError(unknown_name(problem, fill_mode, FILL_MODES, "Fill modes"))
    if repeat < 1 or number < 1:
        raise UsageError(f"repeat and number must be at least 1, not {repeat} and {number}")
    with tvmc_exceptions():
        repeats = (repeat, number) if benchmark else (0, 0)
        return _run(tvmc_package, inputs or {}, entry, sizes or {}, fill_mode, repeats)


def tune(*arguments: object, **old_arguments: object) -> NoReturn:
    """Raise UsageError, because kernels are not tuned; the message names the replacement."""
    raise UsageError(f"tvmc.tune: {TUNING}")


def _modules(
    tvmc_model: TVMCModel | Sequence[TVMCModel] | Mapping[str, TVMCModel],
) -> tuple[IRModule | dict[str, IRModule], Mapping[str, np.ndarray] | None]:
    """Return a module and its parameters, or modules by name with their parameters bound."""
    from usmp.objects.entries import models_by_name

    if isinstance(tvmc_model, TVMCModel):
        return tvmc_model.mod, tvmc_model.params
    if isinstance(tvmc_model, Sequence):
        models = models_by_name((getattr(model, "name", None), model) for model in tvmc_model)
    else:
        models = dict(tvmc_model) if isinstance(tvmc_model, Mapping) else {}
    if not models or not all(isinstance(model, TVMCModel) for model in models.values()):
        raise UsageError("tvmc.compile takes a TVMCModel; call tvmc.load with the model's file")
    from usmp.relax.bind_params import bind_params

    return {
        name: bind_params(model.mod, model.params) if model.params else model.mod
        for name, model in models.items()
    }, None


def _run(
    package: TVMCPackage,
    inputs: Mapping[str, np.ndarray],
    entry: str | None,
    sizes: Mapping[str, int],
    fill_mode: str,
    repeats: tuple[int, int],
) -> TVMCResult:
    """Run an entry once, then measure it with `repeats[0]` series of `repeats[1]` runs."""
    from usmp.driver.run.sizes import fill_run
    from usmp.plain.entry_names import chosen_entry

    archived = package.archive.module()
    entry = chosen_entry(archived.name, list(archived.entries), entry)
    module = package.archive.load()
    interface = module.entries[entry]
    filled, all_sizes = fill_run(interface, inputs, fill_mode, sizes)
    start = time.perf_counter()
    outputs = module.run(filled, entry, all_sizes)
    times = [time.perf_counter() - start]
    if repeats[0]:
        # Copy the inputs, so that further runs do not update the caller's arrays.
        filled = copy.deepcopy(filled)
        times = measured_times(lambda: module.run(filled, entry, all_sizes), *repeats)
    return TVMCResult(Outputs(outputs, len(interface.outputs)), times)
