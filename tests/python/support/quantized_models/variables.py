"""Resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.tflite_builder import Graph, options, per_tensor, write_model

from .model import QuantizedModel, Spec, add_tensor, int32, models, random_constant
from .model import add_input as add

VECTOR = Spec((1, 6), 0.05, -7)


@dataclass
class Stateful:
    """A main graph, and the graph that runs once before it to set the variables."""

    main: Graph
    once: Graph

    def variable(self, name: str, start: np.ndarray, spec: Spec) -> int:
        """A handle in the main graph; the variable starts as `start`."""
        handle = _handle(self.once, name)
        constant = self.once.constant(start, spec.quantization)
        self.once.operator(
            "ASSIGN_VARIABLE", [handle, constant], [], options("AssignVariableOptions")
        )
        return _handle(self.main, name)

    def read(self, handle: int, spec: Spec) -> int:
        """The content of a variable at this point."""
        value = add_tensor(self.main, spec)
        self.main.operator("READ_VARIABLE", [handle], [value], options("ReadVariableOptions"))
        return value

    def assign(self, handle: int, value: int) -> None:
        """Give a variable another content."""
        table = options("AssignVariableOptions")
        self.main.operator("ASSIGN_VARIABLE", [handle, value], [], table)

    def finish(self, *outputs: int) -> bytes:
        """The file."""
        self.main.output(*outputs)
        return write_model(self.main, self.once)


def _handle(graph: Graph, name: str) -> int:
    handle = graph.tensor((), "resource", name=f"{name}{len(graph.tensors)}")
    graph.operator("VAR_HANDLE", [], [handle], options("VarHandleOptions", shared_name=name))
    return handle


def stateful() -> Stateful:
    """A model whose first operator calls the second graph once."""
    main = Graph()
    main.operator("CALL_ONCE", [], [], options("CallOnceOptions", init_subgraph_index=1))
    return Stateful(main, Graph("once"))


def start_of(spec: Spec, kind: str) -> np.ndarray:
    """Zero points, as converters write, or random numbers."""
    if kind == "random":
        return random_constant(spec).data
    return np.full(spec.shape, spec.zero_point, spec.dtype)


def delay(spec: Spec, start: str) -> bytes:
    """The output is the input of the run before: what was read does not change by assigning."""
    model = stateful()
    x = add(model.main, spec)
    handle = model.variable("last", start_of(spec, start), spec)
    before = model.read(handle, spec)
    model.assign(handle, x)
    return model.finish(before)


def before_and_after(spec: Spec, start: str) -> bytes:
    """Read, assign, read again: two outputs."""
    model = stateful()
    x = add(model.main, spec)
    handle = model.variable("last", start_of(spec, start), spec)
    before = model.read(handle, spec)
    model.assign(handle, x)
    return model.finish(before, model.read(handle, spec))


def shift_register(spec: Spec, start: str) -> bytes:
    """Three variables that hand their content on."""
    model = stateful()
    x = add(model.main, spec)
    first = start_of(spec, start)
    handles = [model.variable(f"v{i}", np.roll(first, i), spec) for i in range(3)]
    values = [model.read(handle, spec) for handle in handles]
    for handle, value in zip(handles, [x, *values], strict=False):
        model.assign(handle, value)
    return model.finish(values[-1])


def accumulator(spec: Spec, start: str) -> bytes:
    """A sum that goes on; the output is what is assigned, too."""
    model = stateful()
    x = add(model.main, spec)
    handle = model.variable("sum", start_of(spec, start), spec)
    y = add_tensor(model.main, spec)
    model.main.operator("ADD", [model.read(handle, spec), x], [y], options("AddOptions"))
    model.assign(handle, y)
    return model.finish(y)


def stream(rows: int, kept: int, channels: int, start: str) -> bytes:
    """A convolution over time: the last `kept` rows of the run before stand before the input."""
    x_spec = Spec((1, rows, 1, channels), 0.05, -20)
    model = stateful()
    main = model.main
    x = add(main, x_spec)
    state = x_spec(1, kept, 1, channels)
    handle = model.variable("rows", start_of(state, start), state)
    joined = add_tensor(main, x_spec(1, kept + rows, 1, channels))
    table = options("ConcatenationOptions", axis=1)
    main.operator("CONCATENATION", [model.read(handle, state), x], [joined], table)
    bounds = [int32(0, rows, 0, 0), int32(1, rows + kept, 1, channels), int32(1, 1, 1, 1)]
    rest = add_tensor(main, state)
    table = options("StridedSliceOptions", begin_mask=0b1101, end_mask=0b1101)
    main.operator("STRIDED_SLICE", [joined, *(add(main, b) for b in bounds)], [rest], table)
    model.assign(handle, rest)
    y_spec = Spec((1, rows, 1, 4), 0.05, 9)
    # About a third of half the range of the output.
    scale = 0.0075 / float(np.sqrt((kept + 1) * channels))
    weights = random_constant(Spec((4, kept + 1, 1, channels), scale))
    y = add_tensor(main, y_spec)
    bias = main.constant(
        np.array([500, -900, 0, 77], np.int32), per_tensor(float(np.float32(0.05 * scale)))
    )
    table = options("Conv2DOptions", padding=1, stride_h=1, stride_w=1)
    main.operator("CONV_2D", [joined, add(main, weights), bias], [y], table)
    return model.finish(y)


STARTS = {"from_zero": "zero", "from_random": "random"}
WIDE = Spec((1, 2, 3, 2), 0.0003, 0, "int16")


def _both(**fields: object) -> dict[str, tuple]:
    return {label: (*fields.values(), start) for label, start in STARTS.items()}


MODELS: list[QuantizedModel] = [
    *models("variable_delay", delay, _both(spec=VECTOR)),
    *models("variable_before_and_after", before_and_after, _both(spec=VECTOR)),
    *models("variable_shift_register", shift_register, _both(spec=Spec((2, 3), 0.1, 5))),
    *models("variable_accumulator", accumulator, _both(spec=Spec((1, 9), 0.02, 0))),
    *models("variable_stream", stream, _both(rows=1, kept=2, channels=5)),
    *models("variable_stream_of_three", stream, _both(rows=3, kept=4, channels=2)),
    *models("variable_stream_keeps_less", stream, _both(rows=4, kept=1, channels=3)),
    *models("variable_delay_int16", delay, _both(spec=WIDE)),
]
