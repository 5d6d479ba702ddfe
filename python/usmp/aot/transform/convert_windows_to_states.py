"""ConvertWindowsToStates: a run takes only the new rows of a window, and computes only new rows."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, Var

from usmp.aot.transform.lower_operators import LowerOperators
from usmp.codegen.llvm import evaluate
from usmp.objects.attributes.module_attributes import (
    INPUT_QUANTIZATION_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    SIZE_BOUNDS,
    STATES_ATTR,
    STATES_FLAG_ATTR,
    WINDOWS_ATTR,
)
from usmp.objects.attributes.operator_attributes import OPERATORS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES, shape_of, without_record
from usmp.ops.form import part_of
from usmp.ops.macs import macs_of
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.planning.stream_inputs import OPTION
from usmp.relax.axis_operators import AxisOperator
from usmp.relax.binding_titles import call_title
from usmp.relax.count_iterations import iterations_of
from usmp.relax.limits import LimitError
from usmp.relax.states import input_params, updated_inputs
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform import CheckIterations
from usmp.relax.transform.qdq.io_quantization import io_quantization
from usmp.relax.windows.keep_windows import (
    kept_tensors,
    state_names,
    tensor_name,
    with_kept_windows,
)
from usmp.relax.windows.slides import Slide, Slides, input_slide, kept_rows, slides_of
from usmp.support.text.known_names import unknown_name
from usmp.tir.dtypes import is_float
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

_MOST_STEPS = 1 << 32
"""Most iterations of an operator that runs at compile time: seconds."""


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertWindowsToStates")
class ConvertWindowsToStates(ModulePass):
    """Let `main` take only the new rows of an input that is a window of time, and keep the others.

        main(x: (1, 30, 1, 40)) = y
            ->  main(x: (1, 1, 1, 40), x_window: (1, 2, 1, 40), ...) = y, new x_window, ...

    Windows are the inputs of `tir.usmp.stream_inputs` with a hop, the number of new rows in each
    run. Rows are along the outermost axis that is longer than 1. The other rows are those of the
    previous run, moved up. Results equal those of `main` on the whole window, to the bit.

    Each operator computes the rows that previous runs have not computed: those at the end, and
    those that depend on padding in time. Earlier rows of its operands are kept as states, so
    nothing is computed twice. Operators that need all rows, as before a classifier, take the whole
    window. So do their consumers, and operators whose stride does not divide the hop. Whether rows
    slide follows from the loops of PrimFuncs (`usmp.ops.form`), and is known for Relax operators
    that move elements or are element-wise.

    Before the first run a window holds zeros (in a quantized input, zero points), and states hold
    what operators compute from them. The attribute `windows` of the module lists new rows, states
    and multiply-accumulates of a run.

    Parameters
    ----------
    state_prefix
        beginning of the names of the states, and of the flag that marks the first run, so that
        entries have states of their own.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`; computing an initial row takes too many iterations.
    ValueError
        the planner refuses an option; an input is unknown or has one row; a hop is not less than
        the window; or no operator can compute fewer rows.
    """

    reads = (
        *SIZE_BOUNDS,
        *RECORD_ATTRIBUTES,
        *(INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, STATES_ATTR),
        STATES_FLAG_ATTR,
        *(OPERATORS_ATTR, CONTROL_FLOW_ATTR),
    )
    writes = (*RECORD_ATTRIBUTES, STATES_ATTR, STATES_FLAG_ATTR, WINDOWS_ATTR)

    def __init__(self, state_prefix: str = "") -> None:
        self.state_prefix = state_prefix

    def transform_module(self, mod: IRModule, context: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`, or return the module itself."""
        hops = planning_options(context).hops
        return _converted(mod, hops, self.state_prefix) if hops else mod


def _converted(mod: IRModule, hops: Mapping[str, int], state_prefix: str) -> IRModule:
    main = main_function(mod)
    if size_variables(main):
        raise ValueError(
            f"windows of time have fixed shapes, and the model has sizes that only the run knows: "
            f"fix them, or leave the hop out of {OPTION}"
        )
    inputs = _windows(main, hops)
    slides = slides_of(mod, main, inputs)
    _check_useful(slides, inputs)
    # Check first, because initial rows are computed by running operators.
    CheckIterations()(mod)
    initial = _initial_rows(main, slides)
    converted = with_kept_windows(mod, main, slides, initial, state_prefix)
    wholes = dict.fromkeys(
        call_title(value)
        for values in slides.wholes.values()
        for value in values
        if isinstance(value, Call)
    )
    summary = {
        "inputs": {
            str(param.name): {"rows": slide.shift, "window_rows": slide.rows}
            for param, slide in inputs.items()
        },
        "states": {
            name: {"tensor": tensor_name(slides, var), "rows": _kept_row_count(slides, var)}
            for var, name in state_names(main, slides, state_prefix).items()
        },
        "state_size_bytes": sum(_kept_bytes(slides, var) for var in kept_tensors(slides)),
        "macs": _macs(converted),
        "window_macs": _macs(mod),
        "whole": list(wholes),
    }
    return WINDOWS_ATTR.put(converted, summary)


def _windows(main: relax.Function, hops: Mapping[str, int]) -> dict[Var, Slide]:
    """Return the parameters that are windows, with their slides."""
    params = {str(param.name): param for param in input_params(main)}
    updated = updated_inputs(main)
    windows: dict[Var, Slide] = {}
    for name, hop in hops.items():
        if name in updated:
            raise ValueError(
                f'input "{name}" is updated in place by the run, so it is no window of new rows; '
                f"leave the hop out of {OPTION}"
            )
        if name not in params:
            problem = f'{OPTION}: the model has no input "{name}"'
            raise ValueError(unknown_name(problem, name, params, "Its inputs"))
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


def _check_useful(slides: Slides, inputs: Mapping[Var, Slide]) -> None:
    """Raise if only views and element-wise operators read a window before the whole window is
    needed, because keeping rows of their results saves nothing."""
    for param, slide in inputs.items():
        derived = {param}
        is_useful = False
        for var, operator in slides.operators.items():
            if derived.isdisjoint(operator.operands.values()):
                continue
            derived.add(var)
            reads_several = any(read.count > 1 for read in operator.access.reads.values())
            is_useful |= reads_several or bool(macs_of(operator.access.form.func))
        if is_useful:
            continue
        reason = next((slides.reasons[var] for var in slides.slides if var in slides.reasons), None)
        if reason is not None:
            raise ValueError(
                f'input "{param.name}": {reason}, so that nothing that the run before computed can '
                f"be kept; give another hop, or leave it out of {OPTION}"
            )
        values = [value for var in slides.slides if var in derived for value in slides.wholes[var]]
        calls = [value for value in values if isinstance(value, Call)]
        called = dict.fromkeys(map(call_title, calls))
        if any(isinstance(v.ty, relax.TensorType) and is_float(str(v.ty.dtype)) for v in calls):
            raise ValueError(
                f'input "{param.name}": {" and ".join(called)} computes in float, and only results '
                "of quantized operators are kept; quantize the model, or leave the hop out of "
                f"{OPTION}"
            )
        raise ValueError(
            f'input "{param.name}": the whole window of {slide.rows} rows is needed by '
            f"{' and '.join(called) or 'the output'}, so that nothing that the run before computed "
            f"can be kept; leave the hop out of {OPTION}"
        )


def _initial_rows(main: relax.Function, slides: Slides) -> dict[Var, np.ndarray]:
    """Return, for each tensor, the value of its kept rows while windows hold zeros. All its rows
    are equal then."""
    quantization = io_quantization(main).inputs
    needed = set(kept_tensors(slides))
    for var in reversed(slides.operators):
        if var in needed:
            needed |= {*slides.operators[var].operands.values()}
    rows: dict[Var, np.ndarray] = {}
    for var, slide in slides.slides.items():
        if var not in needed:
            continue
        operator = slides.operators.get(var)
        if operator is not None:
            rows[var] = _row(operator, slide, rows, slides)
            continue
        parameters = quantization.get(str(var.name))
        zero = 0 if parameters is None else parameters[1]
        shape = [1 if axis == slide.axis else n for axis, n in enumerate(shape_of(var))]
        rows[var] = np.full(shape, zero, str(var.ty.dtype))
    return rows


def _row(
    operator: AxisOperator, slide: Slide, rows: Mapping[Var, np.ndarray], slides: Slides
) -> np.ndarray:
    """Return the row that an operator computes from equal rows."""
    first = slide.alike[0]
    reads = operator.access.reads
    ranges = {
        index: reads[index].needed((first, first + 1), slides.slides[var].rows)
        for index, var in operator.operands.items()
    }
    part = without_record(part_of(operator.access, (first, first + 1), ranges))
    steps = iterations_of(part)
    if steps > _MOST_STEPS:
        raise LimitError(
            f"operator {call_title(operator.call)} computes {steps} steps for a row, which "
            f"would run at compile time, where {_MOST_STEPS} may; leave the hop out of {OPTION}"
        )
    arguments = []
    for index, argument in enumerate(operator.arguments):
        if index in operator.operands:
            begin, end = ranges[index]
            row = rows[operator.operands[index]]
            arguments.append(np.repeat(row, end - begin, axis=reads[index].axis))
            continue
        constant = argument if isinstance(argument, GenericConst) else slides.constants[argument]
        arguments.append(constant.value.numpy())
    variable = GlobalVar("operator")
    flat = LowerOperators()(IRModule({variable: part.without_attr("global_symbol")}))[variable]
    written = part.params[-1]
    result = np.zeros([int(extent) for extent in written.shape], str(written.dtype))
    evaluate(flat, arguments, result)
    return result


def _kept_bytes(slides: Slides, var: Var) -> int:
    """Return the bytes of the state with rows of a tensor."""
    elements = prod(shape_of(var)) // slides.slides[var].rows * _kept_row_count(slides, var)
    return elements * np.dtype(str(var.ty.dtype)).itemsize


def _kept_row_count(slides: Slides, var: Var) -> int:
    begin, end = kept_rows(slides, var)
    return end - begin


def _macs(mod: IRModule) -> int:
    """Return the multiply-accumulates of a run of `main`."""
    legalized = relax.transform.LegalizeOps()(mod)
    called = [
        legalized[call.args[0]]
        for call in nodes_of(main_function(legalized).body, Call)
        if op_name(call) in ("relax.call_tir", "relax.call_tir_inplace")
    ]
    return sum(macs_of(func) or 0 for func in called if isinstance(func, tirx.PrimFunc))
