"""Compare the instructions of each operator on emulated boards with those of CMSIS-NN.

    python benchmarks/kernels.py MODEL.tflite ... [--board NAME ...] [--target "c -mcpu=generic"]
        [--pass-config NAME=VALUE ...] [--disabled-pass NAME ...] [--summary]

Each model is compiled for each board, built with -O2, and run on random inputs in QEMU. Operators
are measured in a build with `tir.usmp.debug=profile`, which does not inline them; "whole model" is
an ordinary build. CMSIS-NN's figures are recorded (see `cmsis_nn.py`). An operator that computes
several layers is compared with their sum. "MACs" exclude removed channels. "cycles/MAC" is the
estimate of llvm-mca for the operator's inner loop, if it is installed and knows the core.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cmsis_nn import Layer, kind_of, layers_of, matched, total_of
from inner_loops import cycles_per_mac, why_not
from random_inputs import random_inputs
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from usmp.boards.board import BOARDS, Board, board_named
from usmp.boards.emulator import EmulatedModule
from usmp.boards.profile_board import profile_on_board
from usmp.current_context import changed_context
from usmp.driver.options.pass_config import pass_context
from usmp.runtime import OperatorProfile

_CONSOLE = Console(width=170)


@dataclass(frozen=True)
class Measured:
    """The measurements of a model on a board.

    Parameters
    ----------
    model
        name of the model file.
    board
        the board on which the model ran.
    instructions
        instructions of a run of an ordinary build.
    operators
        the operators of a profiled build.
    layers
        the layers of CMSIS-NN that each operator computes; empty without figures.
    cmsis_nn
        instructions of a run with CMSIS-NN; 0 without figures.
    cycles
        C function -> cycles for a multiply-accumulate in its inner loop.
    """

    model: str
    board: Board
    instructions: int
    operators: Sequence[OperatorProfile]
    layers: Sequence[Sequence[Layer]]
    cmsis_nn: int
    cycles: Mapping[str, float]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    names = [board.name for board in BOARDS]
    parser.add_argument("--board", nargs="+", choices=names, default=names, help="(all)")
    parser.add_argument("--target", default="c", help='"c -mcpu=generic" is portable C (c)')
    parser.add_argument("--pass-config", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--disabled-pass", action="append", default=[], metavar="NAME")
    parser.add_argument("--summary", action="store_true", help="no table of operators")
    options = parser.parse_args()
    boards = [board_named(name) for name in options.board]
    reasons = {board.core: why_not(board.core) for board in boards}
    if not options.summary:
        for reason in filter(None, dict.fromkeys(reasons.values())):
            print(f"no cycles/MAC: {reason}")
    results = []
    config = pass_context(options.pass_config).config
    for path in options.models:
        mod = usmp.import_model(path)
        for board in boards:
            with_cycles = reasons[board.core] is None and not options.summary
            with PassContext(config=config, disabled_pass=options.disabled_pass):
                result = measured(path.stem, mod, board, options.target, with_cycles)
            results.append(result)
            if not options.summary:
                _CONSOLE.print(operator_table(result))
    _CONSOLE.print(model_table(results))
    _CONSOLE.print(kind_table(results))


def measured(model: str, mod: IRModule, board: Board, target: str, with_cycles: bool) -> Measured:
    """Build and run a model, and match its operators to layers of CMSIS-NN."""
    factory = usmp.build(mod, target, board=board)
    metadata = factory.metadata["modules"]["default"]
    inputs = random_inputs(factory)
    instructions = EmulatedModule(factory.files(), metadata, board).run([inputs]).instructions[0]
    with changed_context(config={**PassContext.current().config, "tir.usmp.debug": ["profile"]}):
        factory = usmp.build(mod, target, board=board)
    metadata = factory.metadata["modules"]["default"]
    operators = profile_on_board(factory.files(), metadata, board, inputs).operators
    layers = layers_of(model, board.core)
    functions = [c_name(f) for operator in operators if operator.macs for f in operator.functions]
    return Measured(
        model,
        board,
        instructions,
        operators,
        matched(operators, layers),
        total_of(model, board.core),
        cycles_per_mac(factory.files(), board, functions) if with_cycles else {},
    )


def c_name(function: str) -> str:
    """Return the name of the C function of a PrimFunc."""
    return f"tvmgen_default_{function}"


def operator_table(result: Measured) -> Table:
    """Return the table with a row for each operator, and one for the whole model."""
    table = _table(
        f"{result.model} on {result.board.name} ({result.board.core or 'RISC-V'})",
        ["layers", "kind", "shape"],
        ["MACs", "instructions", "per MAC", "CMSIS-NN", "per MAC", "ratio", "cycles/MAC"],
    )
    for operator, layers in zip(result.operators, result.layers, strict=True):
        theirs = sum(layer.instructions for layer in layers)
        cycles = [result.cycles.get(c_name(name)) for name in operator.functions]
        table.add_row(
            " ".join(str(layer.index) for layer in layers),
            kind_of(layers) or " + ".join(operator.kinds),
            layers[0].shape if layers else " ".join(map(str, operator.outputs)),
            str(operator.macs or ""),
            f"{operator.cost:.0f}",
            _quotient(operator.cost, operator.macs),
            str(theirs or ""),
            _quotient(theirs, operator.macs and sum(layer.macs for layer in layers)),
            _quotient(operator.cost, theirs),
            f"{cycles[0]:.2f}" if cycles and cycles[0] else "",
        )
    macs = sum(operator.macs or 0 for operator in result.operators)
    whole, theirs = result.instructions, result.cmsis_nn
    table.add_row(
        *("", "whole model", "", str(macs), str(whole), _quotient(whole, macs)),
        *(str(theirs or ""), "", _quotient(whole, theirs), ""),
    )
    return table


def model_table(results: Sequence[Measured]) -> Table:
    """Return the table of instructions of whole models by board, with ratios to CMSIS-NN's."""
    boards = list(dict.fromkeys(result.board for result in results))
    headings = [text for board in boards for text in (board.core or board.name, "/ CMSIS-NN")]
    table = _table("Instructions of a run", ["model"], headings)
    cells: dict[str, list[str]] = defaultdict(list)
    for result in results:
        ratio = _quotient(result.instructions, result.cmsis_nn)
        cells[result.model] += [str(result.instructions), ratio]
    for model, row in cells.items():
        table.add_row(model, *row)
    means = []
    for board in boards:
        of_board = [r for r in results if r.board is board and r.cmsis_nn]
        mean = geometric_mean(r.instructions / r.cmsis_nn for r in of_board) if of_board else 0
        means += ["", f"{mean:.2f}" if mean else ""]
    table.add_row("geometric mean", *means)
    return table


def kind_table(results: Sequence[Measured]) -> Table:
    """Return the table of the geometric means of the ratios of layers, by kind and core."""
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for operator, layers in zip(result.operators, result.layers, strict=True):
            theirs = sum(layer.instructions for layer in layers)
            if theirs:
                ratios[kind_of(layers)][result.board.core].append(operator.cost / theirs)
    cores = list(dict.fromkeys(r.board.core for r in results if r.cmsis_nn))
    table = _table("Instructions of layers, ours / CMSIS-NN's, geometric means", ["kind"], cores)
    for kind, by_core in ratios.items():
        means = [f"{geometric_mean(by_core[core]):.2f}" if by_core[core] else "" for core in cores]
        table.add_row(kind, *means)
    return table


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(list(values)).mean()))


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    """Return an empty table in Markdown, with left- and right-aligned columns."""
    table = Table(title=title, title_justify="left", box=MARKDOWN)
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _quotient(dividend: float, divisor: float | None) -> str:
    return f"{dividend / divisor:.2f}" if dividend and divisor else ""


if __name__ == "__main__":
    main()
