"""`tvmc export-test`: write C that tests a compiled model on the device of the user."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from usmp.driver.errors import UsageError
from usmp.driver.options.whole_number import whole_number
from usmp.driver.output import check_output, check_readable, written
from usmp.driver.run.sizes import add_size_option, fill_run, given_sizes
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import add_quiet_option, stages
from usmp.driver.without_torch import without_torch

if TYPE_CHECKING:
    import numpy as np

    from usmp.device.golden_runs import GoldenRun
    from usmp.runtime import Archive, HostEntry, HostModule
    from usmp.runtime.archived.module import ArchivedModule
    from usmp.runtime.reference import ReferenceModule

Tensors: TypeAlias = "Mapping[str, np.ndarray]"
Run: TypeAlias = "tuple[str, Tensors, Mapping[str, int]]"
"""An entry, its inputs by name, and its symbolic sizes by name."""

_RUNS_WITH_STATE = 3
"""Default number of runs with state, so that the state of a run reaches a later output."""
_LONGEST_LIST = 500
_MOST_RUNS = 10_000
_TAR = ".tar"

_EXAMPLES = """\
  tvmc export-test model.tar
      a folder model_test of C files: tvmgen_default_self_test() returns 0 on a device
      that computes what the reference build does, on random inputs
  tvmc export-test model.tar --inputs in.npz --expected expected.npz -o self_test
      on your inputs, compared with your outputs, as those of another runtime
  tvmc export-test model.tar --inputs first.npz --inputs second.npz -o self_test.tar
      two runs, one after the other
  tvmc export-test both.tar --inputs kws=features.npz --inputs vad=sound.npz
      runs of entries of a model that has several"""


def add_export_test_parser(commands: Any) -> None:
    """Add `tvmc export-test` and its options."""
    parser = add_command(
        commands,
        "export-test",
        export_test,
        summary="write C that tests a compiled model on a device",
        description="Write C with inputs and outputs of known runs, and functions that repeat "
        "them on a device or let this host run the model over a serial line (tvmc run --serial). "
        "The outputs are those of the archive's reference build on this host, or those of its own "
        "code if it has none, unless --expected gives them.",
        examples=_EXAMPLES,
    )
    parser.add_argument("FILE", help="an archive that tvmc compile wrote")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="the folder to write to, or a file that ends in .tar (a folder with the name of FILE "
        "and _test)",
    )
    parser.add_argument(
        "--module-name", help="which model of an archive that holds several (the only one)"
    )
    runs = parser.add_argument_group("runs")
    runs.add_argument(
        "-i",
        "--inputs",
        action="append",
        default=[],
        metavar="[ENTRY=]PATH",
        help="an .npz file with the inputs of a run; may be repeated, for one run after the other; "
        "inputs that it lacks are random",
    )
    runs.add_argument(
        "--expected",
        action="append",
        default=[],
        metavar="PATH",
        help="an .npz file with the outputs to expect, one for each --inputs in their order; "
        "without, this host runs the archive's code, which is that of its maker, with your rights",
    )
    runs.add_argument(
        "--runs",
        type=whole_number(1, _MOST_RUNS),
        metavar="N",
        help="without --inputs: how many runs of each entry, on random inputs (1, or "
        f"{_RUNS_WITH_STATE} of a model that keeps state)",
    )
    runs.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=0,
        metavar="N",
        help="of random inputs: the same number gives the same inputs",
    )
    add_size_option(runs)
    runs.add_argument(
        "--extra-source",
        action="append",
        default=[],
        metavar="FILE.c",
        help="C with the functions of the model's accelerators, for this host; may be repeated",
    )
    add_quiet_option(parser)


def export_test(options: argparse.Namespace) -> None:
    """Carry out `tvmc export-test`."""
    path = options.output or f"{Path(options.FILE).stem}_test"
    check_readable(options.FILE)
    _check_options(options, path)
    with without_torch():
        from usmp.device.device_files import device_files
        from usmp.device.needed_memory import self_test_memory
        from usmp.device.testable_module import check_testable
        from usmp.runtime import load_archive

    archive = load_archive(options.FILE)
    module = archive.module(options.module_name)
    check_testable(module)
    with stages(options) as stage:
        runs, source = _golden_runs(options, archive, module, stage)
    files = device_files(module, archive.code(module.name), runs)
    _write(path, files)
    if not options.quiet:
        print(f"{path}: {len(files)} files; {_told(runs)}")
        print(f"{self_test_memory(module)}.")
        print(source)
        for sentence in _left_over(path, files):
            print(sentence)


def _left_over(path: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a sentence about files of other tests in the folder, if there are any."""
    from usmp.device.device_files import other_tests
    from usmp.support.text.plain_text import shown

    others = [] if path.endswith(_TAR) else other_tests(os.listdir(path), files)
    if others:
        a_file = "a file" if len(others) == 1 else f"{len(others)} files"
        names = shown(", ".join(others), _LONGEST_LIST)
        yield (
            f"{path} has {a_file} that this test does not need: {names}; delete "
            f"{'it' if len(others) == 1 else 'them'}, or export to another folder."
        )


def _told(runs: Sequence[GoldenRun]) -> str:
    """Return the numbers of runs and outputs, and the bytes of their arrays, as text."""
    arrays = [a for run in runs for tensors in (run.inputs, run.outputs) for a in tensors.values()]
    outputs = sum(len(run.outputs) for run in runs)
    counts = ", ".join(
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in ((len(runs), "run"), (outputs, "output"))
    )
    return f"{counts}, {sum(array.nbytes for array in arrays)} bytes of constants"


def _check_options(options: argparse.Namespace, path: str) -> None:
    """Check the options and the output path before anything is built.

    Raises
    ------
    UsageError
        the output cannot be written, or options contradict each other.
    """
    if options.expected and len(options.expected) != len(options.inputs):
        raise UsageError(
            f"--expected is given {len(options.expected)} times and --inputs "
            f"{len(options.inputs)}; give one for each run, in the same order"
        )
    if options.runs is not None and options.inputs:
        raise UsageError("--runs is for random inputs; with --inputs each file is one run")
    if path.endswith(_TAR):
        check_output(path, options.FILE, "the test", "the archive")
        return
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{path}: a file, no folder; name a folder, or a file that ends in .tar")
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path}: cannot be written (Permission denied)")
    if not folder.exists():
        check_output(path, options.FILE, "the test", "the archive")


def _golden_runs(
    options: argparse.Namespace,
    archive: Archive,
    module: ArchivedModule,
    stage: Callable[[str], None],
) -> tuple[list[GoldenRun], str]:
    """Return the runs of the test, and a sentence about the origin of their outputs."""
    from usmp.device.golden_runs import golden_run, runs_on_host
    from usmp.driver.run.output_names import load_outputs
    from usmp.runtime import HostEntry

    mains = module.metadata["memory"]["functions"]["main"]
    entries = {name: HostEntry.of(main) for name, main in zip(module.entries, mains, strict=True)}
    runs = _runs(options, module, entries)
    if options.expected:
        expected = [
            golden_run(entry, entries[entry], inputs, sizes, load_outputs(path, entries[entry]))
            for (entry, inputs, sizes), path in zip(runs, options.expected, strict=True)
        ]
        return expected, "The outputs to expect are those of --expected."
    stage("building")
    golden, source = _golden_module(options, archive, module)
    stage("running")
    return runs_on_host(golden, runs), source


def _golden_module(
    options: argparse.Namespace, archive: Archive, module: ArchivedModule
) -> tuple[HostModule | ReferenceModule, str]:
    """Return the module that computes the expected outputs, and a sentence about its origin."""
    from usmp.runtime.reference import REFERENCE, NoReference, load_reference

    try:
        reference = load_reference(archive, module.name, options.extra_source)
    except NoReference as error:
        return archive.load(module.name, options.extra_source), (
            "The outputs to expect are not independent: this host ran the archive's own code, "
            f"since {error}. Give independent ones with --expected."
        )
    return reference, f"The outputs to expect are {REFERENCE}."


def _runs(
    options: argparse.Namespace, module: ArchivedModule, entries: Mapping[str, HostEntry]
) -> list[Run]:
    """Return the entry, the inputs and the sizes of each run, in order."""
    import numpy as np

    from usmp.driver.run.tensors import load_tensors

    generator = np.random.default_rng(options.seed)
    if options.inputs:
        named = [_named(value, module) for value in options.inputs]
        tensors_of_runs = [(entry, load_tensors(path)) for entry, path in named]
    else:
        count = options.runs or (_RUNS_WITH_STATE if module.state_size_bytes else 1)
        tensors_of_runs = [(entry, {}) for _ in range(count) for entry in entries]
    sizes = given_sizes(options.size)
    known = {name for entry in entries.values() for name in entry.sizes}
    runs: list[Run] = []
    for entry, arrays in tensors_of_runs:
        # Keep unknown sizes, so that they raise errors, but drop sizes of other entries.
        entry_sizes = {
            n: v for n, v in sizes.items() if n in entries[entry].sizes or n not in known
        }
        filled, values = fill_run(entries[entry], arrays, "random", entry_sizes, generator)
        runs.append((entry, filled, values))
    return runs


def _named(value: str, module: ArchivedModule) -> tuple[str, str]:
    """Split [ENTRY=]PATH. Only the name of an entry ends at a "=", because paths may have one."""
    from usmp.support.text.plain_text import shown

    name, separator, path = value.partition("=")
    if separator and name in module.entries:
        return name, path
    if len(module.entries) == 1:
        return next(iter(module.entries)), value
    names = ", ".join(f'"{shown(entry)}"' for entry in module.entries)
    example = shlex.quote(f"{next(iter(module.entries))}={value}")
    raise UsageError(
        f'--inputs {value}: model "{shown(module.name)}" has {len(module.entries)} entries '
        f"({names}); say which, as in --inputs {example}"
    )


def _write(path: str, files: Mapping[str, bytes]) -> None:
    """Write all files to a folder or a tar file, or none."""
    from usmp.codegen.model_library_format import write_archive
    from usmp.runtime.write_files import replace_files

    with written(path):
        if path.endswith(_TAR):
            write_archive(dict(files), path)
            return
        is_new = not os.path.isdir(path)
        if is_new:
            os.mkdir(path)
        try:
            replace_files(files, Path(path))
        except BaseException:
            if is_new and not os.listdir(path):
                os.rmdir(path)
            raise
