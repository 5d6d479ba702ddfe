"""`tvmc` for Python, with the names and arguments that TVM's had: load, compile, run."""

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
    from usmp.objects.described_target import OneTarget
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
        a .tflite, .onnx or .pt2 file; or several .pt2 files by name, methods of one PyTorch
        module that share what any of them changes.
    model_format
        "tflite", "onnx" or "pytorch"; the ending of the file must say the same.
    shape_dict
        the shapes of inputs, by name: the `input_shapes` of `usmp.import_model`.
    dtype_dict
        element types, as "int8", by the names of inputs, which must be those of the model.
    trust, max_model_bytes, max_operators, max_sizes
        as `usmp.import_model` takes them.
    old_arguments
        others that TVM's function took: those that change nothing here, with a note.

    Raises
    ------
    UsageError
        a format that is not that of the file, an input of another type, or an argument that is not
        supported.
    UnsupportedModelError
        the file cannot be read or imported.
    """
    check_old_arguments(load.__name__, old_arguments)
    if model_format is not None:
        for file in path.values() if isinstance(path, Mapping) else [path]:
            check_format(file, model_format)
    from usmp.frontend import import_model

    limits = {"max_model_bytes": max_model_bytes, "max_operators": max_operators}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    with tvmc_exceptions():
        mod = import_model(path, trust=trust, max_sizes=max_sizes, input_shapes=shape_dict, **given)
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
    """Compile a model to C with planned memory, or several that share it.

    Parameters
    ----------
    tvmc_model
        from `load`; or several, by the names of their entries, or in a list: then they are called
        as their files, or `model0`, `model1` and so on.
    target, executor, runtime, target_host
        as `usmp.build` takes them.
    additional_target_options
        what `target` does not say, as {"c": {"mcpu": "cortex-m4"}}.
    package_path
        the archive to write; by default one that goes with the package.
    output_format
        "mlf", the Model Library Format.
    pass_context_configs
        pass options, as "tir.usmp.algorithm=hill_climb"; by default those of the
        current `PassContext`.
    opt_level, disabled_pass, instruments
        of the `PassContext`; by default those of the current one.
    print_pass_times
        whether to print what each pass took.
    print_ir_before, print_ir_after
        names of passes before or after which to print the module.
    mod_name
        prefix of the C symbols.
    workspace_pools, constant_pools, board
        as `usmp.build` takes them.
    state_pool, state_layout
        the `state_memory_pool` and the `state_layout` of `usmp.build`.
    io_pool
        the `io_memory_pool` of `usmp.build`.
    concurrent, shared_state, io_type, reference, c_names
        as `usmp.build` takes them.
    old_arguments
        others that TVM's function took: those that change nothing here, with a note.

    Raises
    ------
    UsageError
        an argument that is not supported, a file that cannot be read or written, or the text of a
        ValueError of `usmp.build`.
    UnsupportedModelError, DoesNotFitError
        as `usmp.build` raises them.
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
    old_arguments
        others that TVM's function took: those that change nothing here, with a note.

    Raises
    ------
    UsageError
        an argument that is not supported, or no package; an input is unknown, or of another shape
        or element type; a size is unknown or out of its range; there is no entry of this name, or
        several and no name.
    BuildError
        no C compiler, or it reports an error.
    RunError
        the model returned an error.
    """
    # An empty value of another argument means "no"; an empty device is an error.
    other_device = {} if device == "cpu" else {"device": device or repr(device)}
    check_old_arguments(run.__name__, {**other_device, **old_arguments})
    if not isinstance(tvmc_package, TVMCPackage):
        raise UsageError("the model is not compiled yet; call tvmc.compile and run what it returns")
    from usmp.driver.run.run import FILL_MODES

    if fill_mode not in FILL_MODES:
        raise UsageError(f'unknown fill mode "{fill_mode}"; supported: {", ".join(FILL_MODES)}')
    if repeat < 1 or number < 1:
        raise UsageError(f"repeat and number must be at least 1, not {repeat} and {number}")
    with tvmc_exceptions():
        repeats = (repeat, number) if benchmark else (0, 0)
        return _run(tvmc_package, inputs or {}, entry, sizes or {}, fill_mode, repeats)


def tune(*arguments: object, **old_arguments: object) -> NoReturn:
    """Say what takes the place of tuning.

    Raises
    ------
    UsageError
        always: kernels are not tuned.
    """
    raise UsageError(f"tvmc.tune: {TUNING}")


def _modules(
    given: TVMCModel | Sequence[TVMCModel] | Mapping[str, TVMCModel],
) -> tuple[IRModule | dict[str, IRModule], Mapping[str, np.ndarray] | None]:
    """What `usmp.build` takes: a module and its parameters, or several by name that have theirs."""
    from usmp.objects.entries import models_by_name

    if isinstance(given, TVMCModel):
        return given.mod, given.params
    if isinstance(given, Sequence):
        models = models_by_name((getattr(model, "name", None), model) for model in given)
    else:
        models = dict(given) if isinstance(given, Mapping) else {}
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
    """Run an entry once, and `repeats[0]` times `repeats[1]` times more to measure it."""
    from usmp.driver.run.sizes import fill_run
    from usmp.plain.entry_names import chosen_entry

    described = package.archive.module()
    entry = chosen_entry(described.name, list(described.entries), entry)
    module = package.archive.load()
    interface = module.entries[entry]
    filled, all_sizes = fill_run(interface, inputs, fill_mode, sizes)
    start = time.perf_counter()
    outputs = module.run(filled, entry, all_sizes)
    times = [time.perf_counter() - start]
    if repeats[0]:
        # Further runs would update the caller's arrays.
        filled = copy.deepcopy(filled)
        times = measured_times(lambda: module.run(filled, entry, all_sizes), *repeats)
    return TVMCResult(Outputs(outputs, len(interface.outputs)), times)
