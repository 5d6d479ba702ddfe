"""ConvertWindowsToStates: a run is given what is new of a window, and computes what is new."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, Var

from usmp.aot.transform.lower_operators import LowerOperators
from usmp.codegen.llvm import evaluate
from usmp.objects.attributes import (
    INPUT_QUANTIZATION_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    SIZE_BOUNDS,
    STATES_ATTR,
    WINDOWS_ATTR,
)
from usmp.objects.operator_attributes import OPERATORS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES, shape_of, without_record
from usmp.ops.form import part_of
from usmp.ops.macs import macs_of
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.planning.stream_inputs import OPTION
from usmp.relax.axis_operators import AxisOperator
from usmp.relax.count_iterations import iterations_of
from usmp.relax.limits import LimitError
from usmp.relax.states import states_of, updated_inputs
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform import CheckIterations
from usmp.relax.transform.qdq.float_operators import operator_name
from usmp.relax.transform.qdq.io_quantization import io_quantization
from usmp.relax.windows.keep_windows import kept_tensors, with_kept_windows
from usmp.relax.windows.slides import Slide, Slides, input_slide, kept_rows, slides_of
from usmp.tir.nodes import nodes_of

_MOST_STEPS = 1 << 32
"""Of an operator that runs at compile time: seconds."""


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertWindowsToStates")
class ConvertWindowsToStates(ModulePass):
    """Let `main` take the new rows of an input that is a window of time, and keep the rest.

        main(x: (1, 30, 1, 40)) = y
            ->  main(x: (1, 1, 1, 40), x_window: (1, 2, 1, 40), ...) = y, new x_window, ...

    Such inputs are those of `tir.usmp.stream_inputs` with a hop: of their rows, along the
    outermost axis that is longer than 1, so many are new in each run; the others are those of the
    run before, moved up. The results are those of `main` on the whole window, to the bit.

    Each operator computes rows that no run before has computed: those at the end, and where it pads
    in time also those that padding has a part in. What it reads of earlier rows is kept as a state
    at its operand, so that nothing is computed twice. Operators that need all rows, as what comes
    before a classifier, take the whole window, as do those behind them, and those of which the
    stride does not divide the hop. That rows slide is read from the loops of PrimFuncs
    (`usmp.ops.form`), and known of operators of Relax that move elements or
    compute each by itself.

    Before the first run a window holds zeros, which in a quantized input are its zero point: states
    start with what operators compute from them. The attribute `windows` of the module says what a
    run is given, keeps and computes.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`; a row of an operator that takes too many steps to compute it here.
    ValueError
        options that the planner refuses, an input that is not there or has one row, a hop that is
        not less than the window, or no operator that computes less.
    """

    reads = (
        *SIZE_BOUNDS,
        *RECORD_ATTRIBUTES,
        *(INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, STATES_ATTR),
        *(OPERATORS_ATTR, CONTROL_FLOW_ATTR),
    )
    writes = (*RECORD_ATTRIBUTES, STATES_ATTR, WINDOWS_ATTR)

    def transform_module(self, mod: IRModule, context: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`, or return the module itself."""
        hops = planning_options(context.config).hops
        return _converted(mod, hops) if hops else mod


def _converted(mod: IRModule, hops: Mapping[str, int]) -> IRModule:
    main = main_function(mod)
    if size_variables(main):
        raise ValueError(
            f"windows of time have fixed shapes, and the model has sizes that only the run knows: "
            f"fix them, or leave the hop out of {OPTION}"
        )
    inputs = _windows(main, hops)
    found = slides_of(mod, main, inputs)
    _check_useful(found, inputs)
    # What follows runs operators.
    CheckIterations()(mod)
    initial = _initial_rows(main, found)
    converted = with_kept_windows(mod, main, found, initial)
    wholes = dict.fromkeys(
        operator_name(value)
        for values in found.wholes.values()
        for value in values
        if isinstance(value, Call)
    )
    said = {
        "inputs": {
            str(param.name): {"rows": slide.shift, "window_rows": slide.rows}
            for param, slide in inputs.items()
        },
        "state_size_bytes": sum(_kept_bytes(found, var) for var in kept_tensors(found)),
        "macs": _macs(converted),
        "window_macs": _macs(mod),
        "whole": list(wholes),
    }
    return WINDOWS_ATTR.put(converted, said)


def _windows(main: relax.Function, hops: Mapping[str, int]) -> dict[Var, Slide]:
    """The parameters that are windows."""
    states = {str(state.name) for state in states_of(main) if not state.is_input}
    params = {str(p.name): p for p in main.params if str(p.name) not in states}
    updated = updated_inputs(main)
    windows: dict[Var, Slide] = {}
    for name, hop in hops.items():
        if name in updated:
            raise ValueError(
                f'input "{name}" is updated in place by the run, so it is no window of new rows; '
                f"leave the hop out of {OPTION}"
            )
        if name not in params:
            raise ValueError(
                f'{OPTION}: the model has no input "{name}"; it has {", ".join(params) or "none"}'
            )
        slide = input_slide(params[name], hop)
        if slide is None:
            raise ValueError(
                f'input "{name}" has one row only; rows are along the outermost axis that is '
                f"longer than 1; leave it out of {OPTION}"
            )
        if hop >= slide.rows:
            raise ValueError(
                f'input "{name}" is a window of {slide.rows} rows, so that a hop of {hop} leaves '
                f"nothing to keep; give less than {slide.rows} rows, or leave the hop out of "
                f"{OPTION}"
            )
        windows[params[name]] = slide
    return windows


def _check_useful(found: Slides, inputs: Mapping[Var, Slide]) -> None:
    """Refuse windows of which nothing is kept but themselves: views of them and what computes each
    element from one would keep as much, and save nothing."""
    for param, slide in inputs.items():
        derived = {param}
        is_useful = False
        for var, operator in found.operators.items():
            if derived.isdisjoint(operator.operands.values()):
                continue
            derived.add(var)
            reads_several = any(read.count > 1 for read in operator.access.reads.values())
            is_useful |= reads_several or bool(macs_of(operator.access.form.func))
        if is_useful:
            continue
        reason = next((found.reasons[var] for var in found.slides if var in found.reasons), None)
        if reason is not None:
            raise ValueError(
                f'input "{param.name}": {reason}, so that nothing that the run before computed can '
                f"be kept; give another hop, or leave it out of {OPTION}"
            )
        values = [value for var in found.slides if var in derived for value in found.wholes[var]]
        called = dict.fromkeys(operator_name(v) for v in values if isinstance(v, Call))
        raise ValueError(
            f'input "{param.name}": the whole window of {slide.rows} rows is needed by '
            f"{' and '.join(called) or 'the output'}, so that nothing that the run before computed "
            f"can be kept; leave the hop out of {OPTION}"
        )


def _initial_rows(main: relax.Function, found: Slides) -> dict[Var, np.ndarray]:
    """What a row of each tensor of which some are kept holds while the window holds zeros: all rows
    hold the same."""
    quantization = io_quantization(main).inputs
    needed = set(kept_tensors(found))
    for var in reversed(found.operators):
        if var in needed:
            needed |= {*found.operators[var].operands.values()}
    rows: dict[Var, np.ndarray] = {}
    for var, slide in found.slides.items():
        if var not in needed:
            continue
        operator = found.operators.get(var)
        if operator is not None:
            rows[var] = _row(operator, slide, rows, found)
            continue
        parameters = quantization.get(str(var.name))
        zero = 0 if parameters is None else parameters[1]
        shape = [1 if axis == slide.axis else n for axis, n in enumerate(shape_of(var))]
        rows[var] = np.full(shape, zero, str(var.ty.dtype))
    return rows


def _row(
    operator: AxisOperator, slide: Slide, rows: Mapping[Var, np.ndarray], found: Slides
) -> np.ndarray:
    """The row that an operator computes from rows that are all alike."""
    first = slide.alike[0]
    reads = operator.access.reads
    given = {
        index: reads[index].needed((first, first + 1), found.slides[var].rows)
        for index, var in operator.operands.items()
    }
    part = without_record(part_of(operator.access, (first, first + 1), given))
    steps = iterations_of(part)
    if steps > _MOST_STEPS:
        raise LimitError(
            f"operator {operator_name(operator.call)} computes {steps} steps for a row, which "
            f"would run at compile time, where {_MOST_STEPS} may; leave the hop out of {OPTION}"
        )
    arguments = []
    for index, argument in enumerate(operator.arguments):
        if index in operator.operands:
            begin, end = given[index]
            row = rows[operator.operands[index]]
            arguments.append(np.repeat(row, end - begin, axis=reads[index].axis))
            continue
        constant = argument if isinstance(argument, GenericConst) else found.constants[argument]
        arguments.append(constant.value.numpy())
    variable = GlobalVar("operator")
    flat = LowerOperators()(IRModule({variable: part.without_attr("global_symbol")}))[variable]
    written = part.params[-1]
    result = np.zeros([int(extent) for extent in written.shape], str(written.dtype))
    evaluate(flat, arguments, result)
    return result


def _kept_bytes(found: Slides, var: Var) -> int:
    """Of the state that holds rows of a tensor."""
    begin, end = kept_rows(found, var)
    elements = prod(shape_of(var)) // found.slides[var].rows * (end - begin)
    return elements * np.dtype(str(var.ty.dtype)).itemsize


def _macs(mod: IRModule) -> int:
    """The multiply-accumulates of a run of `main`."""
    legalized = relax.transform.LegalizeOps()(mod)
    called = [
        legalized[call.args[0]]
        for call in nodes_of(main_function(legalized).body, Call)
        if getattr(call.op, "name", None) in ("relax.call_tir", "relax.call_tir_inplace")
    ]
    return sum(macs_of(func) or 0 for func in called if isinstance(func, tirx.PrimFunc))
