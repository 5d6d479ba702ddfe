"""`tvmc explore`: compare many configurations of a build."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.explore.options import add_sweep_options, configurations
from usmp.driver.explore.worker import evaluate, shared_data, tell_notes
from usmp.driver.options.build_options import RARE_IN_PLANS, add_build_options
from usmp.driver.options.byte_count import bytes_option
from usmp.driver.options.model_files import (
    check_is_none_of,
    check_model_files,
    model_files,
    note_one_program,
)
from usmp.driver.output import Show, check_output, chosen_format, print_or_write, written
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.interrupts import deferred_interrupts
from usmp.driver.terminal.progress import ProgressCallback, add_quiet_option, stages
from usmp.driver.terminal.search import command_deadline, time_budget
from usmp.support.process.usable_cpus import usable_cpus

if TYPE_CHECKING:
    from usmp.exploration.processes import IsInterrupted
    from usmp.exploration.sweep import InputFile, Sweep

FORMATS = ("table", "json", "csv", "markdown")
_ENDINGS = {".json": "json", ".csv": "csv", ".md": "markdown"}
_KEPT = ".json"
"""Ending of a results file that a later run continues."""

_MOST_JOBS = 1024

_EXAMPLES = """\
  tvmc explore model.tflite --target-c-mcpu=cortex-m4
      RAM, flash and instructions of 24 configurations, and how to build the best
  tvmc explore model.tflite --vary optimize=ram,balanced,speed --vary StreamOperators=0,1 \\
      -o sweep.json --plot sweep.svg
      what you choose; kept in a file, so that ctrl-C and the same command go on later
  tvmc explore model.tflite --vary target-c-mcpu=cortex-m4,cortex-m33,cortex-m55 \\
      --max-ram 64K --format markdown
      cores, as far as the memory is not too large
  tvmc explore model.tflite --config one="--workspace-io" \\
      --config two="--usmp-workspace-pools=fast,slow --usmp-workspace-pool-fast=size=512"
      sets of options, such as memory pools
  tvmc explore a.tflite b.tflite
      two models in one program, which share memory; for one of them alone, name one
  tvmc explore model.tflite -o sweep.json --scheduler tcp://10.0.0.1:8786
      on a cluster of Dask

The figures do not depend on the number of processes, nor on the order in which they end."""


def add_explore_parser(commands: Any) -> None:
    """Add `tvmc explore` and its options."""
    parser = add_command(
        commands,
        "explore",
        explore_model,
        summary="compare ways to compile a model",
        description="Compile a model in many ways, compare RAM, flash and instructions, and show "
        "the command for each that nothing else is better than. The options of tvmc compile hold "
        "for all of them.",
        examples=_EXAMPLES,
    )
    add_build_options(parser)
    parser.make_rare((*RARE_IN_PLANS, "stream_input", "stream_output", "io_pool", "state_pool"))
    add_sweep_options(parser)
    work = parser.add_argument_group("work")
    work.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        metavar="N",
        help="how many processes build at once (default: one for each CPU)",
    )
    work.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="build on a cluster of Dask, as tcp://10.0.0.1:8786; its workers need usmp",
    )
    output = parser.add_argument_group("output files")
    for memory in ("ram", "flash"):
        output.add_argument(
            f"--max-{memory}",
            type=bytes_option,
            metavar="BYTES",
            help=f"leave configurations that take more {memory} out of the comparison, as 64K",
        )
    output.add_argument(
        "--format",
        choices=FORMATS,
        help="how to show the results (default: as the ending of --output says, else table)",
    )
    output.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="the file to write; a .json file also lets the next run go on where this one ends",
    )
    output.add_argument(
        "--plot", metavar="PATH", help="draw RAM, flash and instructions, as .svg, .png or .html"
    )
    add_quiet_option(output)


def explore_model(options: argparse.Namespace) -> None:
    """Carry out `tvmc explore`."""
    _check(options)
    sweep = _sweep(options)
    keeps = options.output is not None and _ending(options.output) == _KEPT
    if keeps and os.path.exists(options.output):
        from usmp.exploration.document import take_results

        done = take_results(sweep, options.output)
        if not options.quiet:
            total = len(sweep.configurations)
            print(f"{options.output}: {done} of {total} are done", file=options.stderr)
    _carry_out(sweep, options, keeps)
    _check_any(sweep, options)
    shown_as = chosen_format(options, _ENDINGS)
    if options.plot is not None:
        _plot(sweep, options.plot)
    if options.output is not None:
        written_as = _ENDINGS.get(_ending(options.output), shown_as)
        print_or_write(options.output, _content(sweep, written_as))
        # The file has all results, so the terminal shows a table to read.
        shown_as = options.format or "table"
    is_shown = options.output is None or options.format is not None or not options.quiet
    note_one_program(options, "explore", shown_as if is_shown else None)
    if is_shown:
        print_or_write(None, _content(sweep, shown_as))


def _check(options: argparse.Namespace) -> None:
    """Check the options before anything is built."""
    check_model_files(options)
    if options.export_state_layout is not None:
        raise UsageError("--export-state-layout is for tvmc compile and tvmc plan; leave it out")
    if options.scheduler is not None and options.extension:
        raise UsageError("--extension cannot be sent to a cluster; leave out --scheduler or it")
    if options.scheduler is not None and options.jobs is not None:
        raise UsageError("--jobs is about this computer; the cluster of --scheduler has workers")
    for path, name in ((options.output, "the results"), (options.plot, "the plot")):
        if path is not None:
            check_is_none_of(path, options, name)
            if options.state_layout is not None:
                check_output(path, options.state_layout, name, "the state layout")
    if options.plot is not None:
        from usmp.exploration.chart import ENDINGS, check_renderer

        if _ending(options.plot) not in ENDINGS:
            raise UsageError(f"--plot {options.plot}: a plot ends in {', '.join(ENDINGS)}")
        if options.output is not None:
            check_output(options.plot, options.output, "the plot", "the results")
        check_renderer()


def _sweep(options: argparse.Namespace) -> Sweep:
    import usmp
    from usmp.exploration.sweep import Sweep

    return Sweep(
        usmp.__version__,
        [file for file, _ in _inputs(options)],
        configurations(options),
        options.max_ram,
        options.max_flash,
    )


def _inputs(options: argparse.Namespace) -> Iterator[tuple[InputFile, bytes]]:
    """Yield each file that the sweep reads: models, then a state layout, then extensions."""
    from usmp.exploration.sweep import InputFile

    paths = [file.path for file in model_files(options)]
    for path in [*paths, *filter(None, [options.state_layout]), *options.extension]:
        content = Path(path).read_bytes()
        yield InputFile.of(Path(path).name, content), content


def _carry_out(sweep: Sweep, options: argparse.Namespace, keeps: bool) -> None:
    """Build the remaining configurations.

    If `keeps`, write all results after each configuration, from the first successful build on.
    """
    from usmp.exploration.document import sweep_json
    from usmp.exploration.result import BUILT, Result

    remaining = [configuration.arguments for configuration in sweep.remaining]
    if not remaining:
        return
    total = len(sweep.configurations)
    with stages(options) as stage, deferred_interrupts() as is_interrupted:
        _show_progress(stage, sweep)
        try:
            with closing(_results(options, remaining, is_interrupted)) as results:
                for arguments, result in results:
                    tell_notes(result)
                    sweep.results[arguments] = Result.from_json(result)
                    is_any = any(r.outcome == BUILT for r in sweep.results.values())
                    if keeps and is_any:
                        _write(options.output, sweep_json(sweep))
                    _show_progress(stage, sweep)
            return
        except KeyboardInterrupt:
            done = len(sweep.results)
            is_kept = keeps and os.path.exists(options.output)
    kept = f"kept in {options.output}; the same command goes on" if is_kept else (
        "not kept; with -o FILE.json they are, and the same command goes on"
    )  # fmt: skip
    print(f"tvmc: {done} of {total} configurations are done, and {kept}", file=options.stderr)
    raise KeyboardInterrupt


def _results(
    options: argparse.Namespace, tasks: list[tuple[str, ...]], is_interrupted: IsInterrupted
) -> Any:
    import usmp
    from usmp.exploration.cluster import on_cluster
    from usmp.exploration.processes import in_processes

    models = model_files(options)
    is_sent = options.scheduler is not None
    contents = [content for _, content in _inputs(options)] if is_sent else []
    layout = contents[len(models)] if is_sent and options.state_layout is not None else None
    jobs = min(options.jobs or usable_cpus(), len(tasks))
    deadline = command_deadline(options, time_budget(options))
    # The number of workers of a cluster is unknown: assume one.
    workers = 1 if is_sent else jobs
    seconds = None if deadline is None else deadline.remaining_seconds() * workers / len(tasks)
    shared = shared_data(
        usmp.__version__, models, contents[: len(models)], layout, is_sent, seconds
    )
    if is_sent:
        return on_cluster(options.scheduler, evaluate, shared, tasks, is_interrupted)
    return in_processes(evaluate, shared, tasks, jobs, is_interrupted)


def _show_progress(stage: ProgressCallback, sweep: Sweep) -> None:
    known = [r.ram_bytes for r in sweep.results.values() if r.ram_bytes is not None]
    least = f", least RAM {min(known)}" if known else ""
    stage(f"{len(sweep.results)} of {len(sweep.configurations)} configurations{least}")


def _check_any(sweep: Sweep, options: argparse.Namespace) -> None:
    """Raise if all configurations fail for one reason, because common options are then wrong."""
    reasons = {result.reason for result in sweep.results.values()}
    if len(reasons) == 1 and None not in reasons:
        (reason,) = reasons
        which = "the configuration" if len(sweep.configurations) == 1 else "each configuration"
        raise UsageError(f"{which} is refused: {reason}")


def _plot(sweep: Sweep, path: str) -> None:
    from usmp.exploration.chart import chart
    from usmp.exploration.result import BUILT

    if any(result.outcome == BUILT for result in sweep.results.values()):
        _write(path, chart(sweep, _ending(path)))


def _write(path: str, content: str | bytes) -> None:
    from usmp.codegen.write_file import write_file

    with written(path, is_last=False):
        write_file(path, content.encode() if isinstance(content, str) else content)


def _content(sweep: Sweep, shown_as: str) -> str | Show:
    from usmp.exploration.document import sweep_json
    from usmp.exploration.tables import print_sweep, sweep_csv, sweep_markdown

    if shown_as == "json":
        return sweep_json(sweep)
    if shown_as == "csv":
        return sweep_csv(sweep)
    if shown_as == "markdown":
        return sweep_markdown(sweep)
    return partial(print_sweep, sweep)


def _ending(path: str) -> str:
    return Path(path).suffix.lower()


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:5]) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"must be from 1 to {_MOST_JOBS}, not {text}")
    return int(text[:5])
