"""`tvmc run`: run an archive on this host, an emulated board or a device."""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, TypeAlias

from usmp.driver.build.reports import check_report_paths
from usmp.driver.errors import UsageError
from usmp.driver.options.byte_count import bytes_option
from usmp.driver.options.whole_number import whole_number
from usmp.driver.output import check_output
from usmp.driver.run.board_options import add_board_options
from usmp.driver.run.profile import add_profile_options, check_profile_options, report_profile
from usmp.driver.run.serial_options import add_serial_options, check_serial_options
from usmp.driver.run.sizes import add_size_option, fill_run, given_sizes
from usmp.driver.run.steps import (
    add_steps_option,
    carry_updated_inputs,
    check_all_steps_given,
    check_steps_option,
    joined_steps,
    split_steps,
)
from usmp.driver.run.times import (
    add_time_options,
    check_time_options,
    measured_times,
    print_times,
)
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import add_quiet_option, stages
from usmp.driver.without_torch import without_torch
from usmp.names import DEFAULT_ARENA_BYTES

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import Archive, HostEntry, Profile

Tensors: TypeAlias = "Mapping[str, np.ndarray]"
Result: TypeAlias = "tuple[Tensors, list[float], Profile | None]"
"""The outputs, the times of the measured runs in seconds, and the profile if requested."""

FILL_MODES = ("random", "zeros", "ones")
_MOST_VALUES = 1_000_000

_EXAMPLES = """\
  tvmc run model.tar
      with random inputs, always the same; the outputs are printed
  tvmc run model.tar --inputs in.npz --outputs out.npz --print-time
      with arrays of numpy.savez("in.npz", image=...), by the names of the inputs
  tvmc run model.tar --inputs image=x.npy --outputs probabilities=y.bin
      a file for one tensor: of numpy.save, or its bytes; the only one needs no name
  tvmc run kws.tar --steps 49 --inputs features.npy --outputs words.npy
      49 runs of a streaming model, which keeps its state; features.npy has them in front
  CC="gcc -O3" tvmc run model.tar --fill-mode zeros
      built by a compiler of your choice
  tvmc run both.tar --entry kws --inputs features.npy
      one of several models, or of several entries of one (tvmc info shows their names)
  tvmc run board.tar --board mps2-an385
      in the emulator, of what tvmc compile --board mps2-an385 made: instructions, stack, memory
  tvmc run profiled.tar --profile
      time by operator, of what tvmc compile --profile made; with --board instructions
  tvmc run profiled.tar --report map.html
      the memory map as a page, with the time of each operator
  tvmc run model.tar --serial /dev/ttyUSB0,115200
      on your device, whose program has what tvmc export-test wrote"""


def add_run_parser(commands: Any) -> None:
    """Add `tvmc run` and its options."""
    parser = add_command(
        commands,
        "run",
        run_model,
        summary="run a compiled model on this host",
        description="Build the C of an archive with the host's compiler ($CC, or cc) and run it. "
        "This is code of the maker of the archive, and runs with your rights.",
        examples=_EXAMPLES,
    )
    parser.add_argument("FILE", help="an archive that tvmc compile wrote")
    parser.add_argument(
        "--module-name", help="which model of an archive that holds several (the only one)"
    )
    parser.add_argument(
        "--entry", metavar="NAME", help="which entry of a model that has several (the only one)"
    )
    tensors = parser.add_argument_group("inputs and outputs")
    tensors.add_argument(
        "-i",
        "--inputs",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="an .npz file with an array for each input, or an .npy file or .bin file (raw bytes) "
        "for one; may be repeated (tvmc info shows the names)",
    )
    tensors.add_argument(
        "-o",
        "--outputs",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="the .npz file to write the outputs to, not stdout, or an .npy or .bin file for one; "
        "may be repeated",
    )
    tensors.add_argument(
        "--fill-mode",
        default="random",
        choices=FILL_MODES,
        help="what inputs hold that --inputs does not give (random is the same in every run)",
    )
    add_steps_option(tensors)
    add_size_option(tensors)
    tensors.add_argument(
        "--print-top",
        type=whole_number(1, _MOST_VALUES),
        metavar="N",
        help="print the N largest values of each output, in a row below their indices, and not all",
    )
    tensors.add_argument(
        "--extra-source",
        action="append",
        default=[],
        metavar="FILE.c",
        help="C with the functions of the model's accelerators; may be repeated",
    )
    parser.add_argument(
        "--arena-bytes",
        type=bytes_option,
        default=DEFAULT_ARENA_BYTES,
        metavar="BYTES",
        help="memory for a model that allocates while it runs, such as 64K (default: 64M)",
    )
    add_time_options(parser.add_argument_group("times"))
    add_profile_options(parser.add_argument_group("profile"))
    add_board_options(parser.add_argument_group("boards"))
    add_serial_options(parser.add_argument_group("devices"))
    add_quiet_option(parser)


def run_model(options: argparse.Namespace) -> None:
    """Carry out `tvmc run`."""
    check_serial_options(options)
    check_steps_option(options)
    check_time_options(options)
    if options.expected and not (options.board or options.serial):
        raise UsageError(
            "--expected is compared with what a board or a device computes; name it with --board "
            "or --serial"
        )
    from usmp.driver.run.tensor_files import output_files, path_of, read_inputs, write_outputs
    from usmp.driver.run.tensors import print_tensors, print_top

    with without_torch():
        from usmp.runtime import HostEntry, load_archive

    archive = load_archive(options.FILE)
    has_files = options.inputs or options.outputs
    interface = _interface(options, archive) if has_files else HostEntry({}, {})
    paths = [path_of(value, list(interface.results)) for value in options.outputs]
    inputs = list(interface.inputs)
    for path in paths:
        _check_output(options, path, "the outputs", inputs)
    if options.profile_json is not None:
        _check_output(options, options.profile_json, "the profile", inputs)
    for path in options.report:
        _check_output(options, path, "the report", inputs)
    check_report_paths(options.report, [*paths, options.profile_json])
    files = output_files(options.outputs, interface.results)
    arrays = read_inputs(options.inputs, interface.inputs, options.steps)
    check_profile_options(options, archive)
    run = _run_on_board if options.board else _run_on_host
    run = _run_on_device if options.serial else run
    outputs, times, profile = run(options, archive, arrays)
    if files:
        write_outputs(files, outputs, len(interface.outputs))
    elif options.print_top is None:
        print_tensors(outputs)
    if options.print_time:
        print_times(times)
    if options.print_top is not None:
        print_top(outputs, options.print_top)
    if profile is not None:
        report_profile(profile, options, archive.module(options.module_name).metadata)


def _entry_of(options: argparse.Namespace, archive: Archive) -> str:
    """Return the name of the selected entry, or of the only one, before anything is built."""
    from usmp.plain.entry_names import chosen_entry
    from usmp.support.text.plain_text import shown

    module = archive.module(options.module_name)
    names = list(module.entries)
    if options.entry is None and len(names) > 1:
        listed = ", ".join(f'"{shown(name)}"' for name in names)
        raise UsageError(
            f'model "{shown(module.name)}" has {len(names)} entries; choose one with --entry: '
            f"{listed}"
        )
    return chosen_entry(module.name, names, options.entry)


def _interface(options: argparse.Namespace, archive: Archive) -> HostEntry:
    """Return the inputs and outputs of the selected entry."""
    from usmp.runtime import HostEntry

    module = archive.module(options.module_name)
    mains = module.metadata["memory"]["functions"]["main"]
    return HostEntry.of(mains[list(module.entries).index(_entry_of(options, archive))])


def _expected(options: argparse.Namespace, archive: Archive) -> Tensors | None:
    """Return the outputs in the file of `--expected`, or None."""
    from usmp.driver.run.output_names import load_outputs

    return (
        load_outputs(options.expected, _interface(options, archive)) if options.expected else None
    )


def _check_output(options: argparse.Namespace, path: str, what: str, inputs: Sequence[str]) -> None:
    """Check that `what` can be written to `path`, and overwrites no input of the command."""
    from usmp.driver.run.tensor_files import path_of

    check_output(path, options.FILE, what, "the archive")
    for value in options.inputs:
        check_output(path, path_of(value, inputs), what, "the inputs")
    if options.expected is not None:
        check_output(path, options.expected, what, "the expected outputs")


def _run_on_host(options: argparse.Namespace, archive: Archive, arrays: Tensors) -> Result:
    """Run on this host, and measure times or operators if requested."""
    entry = _entry_of(options, archive)
    with stages(options) as stage:
        stage("building")
        profiler = None
        if options.profile:
            profiler = archive.profiler(
                options.module_name, options.extra_source, options.arena_bytes
            )
            module = profiler.module
        else:
            module = archive.load(options.module_name, options.extra_source, options.arena_bytes)
        runs = _runs(options, module.entries[entry], arrays)
        stage("running")
        start = time.perf_counter()
        steps = [module.run(inputs, entry, sizes) for inputs, sizes in runs]
        times = [time.perf_counter() - start]
        outputs = joined_steps(steps, options.steps)
        if options.print_time and options.repeat * options.number > 1:
            stage("measuring")
            # Keep the outputs of the first run, because further runs continue with its state.
            times = measured_times(
                lambda: [module.run(inputs, entry, sizes) for inputs, sizes in runs],
                options.repeat,
                options.number,
            )
        if profiler is None:
            return outputs, times, None
        stage("measuring")
        ((inputs, sizes),) = runs
        return outputs, times, profiler.measure(inputs, entry, sizes=sizes)


def _runs(
    options: argparse.Namespace, entry: HostEntry, arrays: Tensors
) -> Sequence[tuple[Tensors, Mapping[str, int]]]:
    """Return the inputs and the sizes of each step."""
    import numpy as np

    from usmp.driver.run.tensors import RANDOM_SEED

    generator, sizes = np.random.default_rng(RANDOM_SEED), given_sizes(options.size)
    runs = [
        fill_run(entry, step, options.fill_mode, sizes, generator)
        for step in split_steps(entry, arrays, options.steps)
    ]
    if options.board and len(runs) > 1:
        check_all_steps_given(entry, arrays)
    carry_updated_inputs(entry, arrays, [inputs for inputs, _ in runs])
    return runs


def _run_on_board(options: argparse.Namespace, archive: Archive, arrays: Tensors) -> Result:
    """Run in the emulator of a board, print a report, and compare the outputs."""
    from usmp.boards.profile_board import profile_of_runs
    from usmp.driver.run.on_board import check_board, load_board_module, report_run

    check_board(archive, options)
    entry = _entry_of(options, archive)
    expected = _expected(options, archive)
    with stages(options) as stage:
        stage(f"building for {options.board}")
        module = load_board_module(archive, options)
        steps = [(entry, *run) for run in _runs(options, module.entries[entry], arrays)]
        stage(f"running on {options.board} in the emulator")
        start = time.perf_counter()
        runs = module.run(steps, options.timeout)
        times = [time.perf_counter() - start]
    with redirect_stdout(io.StringIO()) if options.quiet else nullcontext():
        outputs = report_run(archive, module, runs, steps, expected, options)
    if not options.profile:
        return outputs, times, None
    return outputs, times, profile_of_runs(archive.module().metadata, runs, entry)


def _run_on_device(options: argparse.Namespace, archive: Archive, arrays: Tensors) -> Result:
    """Run on a device over a serial line, and compare the outputs."""
    from usmp.driver.run.on_device import DeviceRun

    run = DeviceRun(options, archive, _entry_of(options, archive), arrays)
    expected = _expected(options, archive)
    with stages(options) as stage:
        run.carry_out(stage)
    with redirect_stdout(io.StringIO()) if options.quiet else nullcontext():
        run.report(expected)
    return run.outputs, [run.seconds], run.profile
