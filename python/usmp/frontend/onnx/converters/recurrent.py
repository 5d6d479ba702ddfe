"""Converters of ONNX `LSTM`, `GRU` and `RNN` to loops over the steps of a sequence.

Source: ONNX operators; onnxruntime 1.32, core/providers/cpu/rnn, where ONNX is unspecific.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.recurrent import (
    Activation,
    Cell,
    GruCell,
    LstmCell,
    Placed,
    RnnCell,
    Weights,
    recurrent_layer,
)
from usmp.support.text.plain_text import shown

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Direction -> for each pass over the sequence, whether it is reversed."""


@dataclass(frozen=True)
class _Function:
    """An activation function.

    Parameters
    ----------
    name
        the name of its `Activation`.
    takes
        whether it has an alpha, and whether it has a beta.
    defaults
        default values of alpha and beta, where ONNX and onnxruntime agree on them.
    """

    name: str
    takes: tuple[bool, bool] = (False, False)
    defaults: tuple[float | None, float | None] = (None, None)


_FUNCTIONS = {
    "Affine": _Function("affine", (True, True)),
    "Elu": _Function("elu", (True, False), (1.0, None)),
    "HardSigmoid": _Function("hard_sigmoid", (True, True), (0.2, 0.5)),
    "LeakyRelu": _Function("leaky_relu", (True, False), (0.01, None)),
    "Relu": _Function("relu"),
    "ScaledTanh": _Function("scaled_tanh", (True, True)),
    "Sigmoid": _Function("sigmoid"),
    "Softplus": _Function("softplus"),
    "Softsign": _Function("softsign"),
    "Tanh": _Function("tanh"),
    "ThresholdedRelu": _Function("thresholded_relu", (True, False)),
}

_Make = Callable[[OnnxNode, list[Activation], float | None], Cell]


def lstm(node: OnnxNode) -> Expr:
    """Convert `LSTM`; with `input_forget`, the forget gate is 1 - the input gate."""
    peepholes = node.input(7)
    if peepholes is not None and not _is_zero(peepholes):
        raise NotSupported("peepholes (input 7, P) are not computed; export it without them")
    return _layer(node, ("Sigmoid", "Tanh", "Tanh"), _lstm_cell, [5, 6])


def _lstm_cell(node: OnnxNode, functions: list[Activation], clip: float | None) -> Cell:
    couples = bool(node.attributes.get("input_forget", 0))
    gate, candidate, output = functions
    return LstmCell(gate, candidate, output, clip=clip, couples_forget=couples)


def gru(node: OnnxNode) -> Expr:
    """Convert `GRU`."""
    return _layer(node, ("Sigmoid", "Tanh"), _gru_cell, [5])


def _gru_cell(node: OnnxNode, functions: list[Activation], clip: float | None) -> Cell:
    gate, candidate = functions
    return GruCell(gate, candidate, clip, _resets_after(node))


def _resets_after(node: OnnxNode) -> bool:
    return bool(node.attributes.get("linear_before_reset", 0))


def rnn(node: OnnxNode) -> Expr:
    """Convert `RNN`."""
    return _layer(node, ("Tanh",), lambda _, functions, clip: RnnCell(functions[0], clip), [5])


def _layer(
    node: OnnxNode, defaults: tuple[str, ...], make: _Make, initial_states: Sequence[int]
) -> Expr:
    """Convert a layer in all its directions.

    Parameters
    ----------
    defaults
        the default activations of one direction.
    initial_states
        the indices of the inputs that hold the initial states.
    """
    reversals = _DIRECTIONS[node.text("direction", "forward")]
    functions = _functions(node, defaults, len(reversals))
    cells = [make(node, of_direction, _clip(node)) for of_direction in functions]
    shapes = _Shapes.of(node, len(reversals), cells[0].gates)
    _check_lengths(node, shapes)
    data = Placed(node.required(0), shapes.data_axes)
    states = [_initial(node, index, shapes) for index in initial_states]
    output = None
    if 0 not in node.unread:
        kind = relax.TensorType(shapes.of_axes(shapes.output_axes), "float32")
        output = Placed(kind, shapes.output_axes)
    for direction, (cell, backwards) in enumerate(zip(cells, reversals, strict=True)):
        weights = _weights(node, shapes, direction)
        states = [replace(state, direction=direction) for state in states]
        output = None if output is None else replace(output, direction=direction)
        after, result = recurrent_layer(
            node.builder, cell, data, weights, states, output, backwards
        )
        states = [Placed(state, shapes.state_axes) for state in after]
        output = None if result is None else Placed(result, shapes.output_axes)
    # If Y is not read, any tensor takes its place, because Y_h and Y_c come after it in the tuple.
    results = [states[0].tensor if output is None else output.tensor, *(s.tensor for s in states)]
    return results[0] if node.outputs == 1 else relax.Tuple(results[: node.outputs])


@dataclass(frozen=True)
class _Shapes:
    """Extents of a layer, and the axis orders of its tensors: time, batch, direction, unit."""

    steps: int
    batch: int
    features: int
    units: int
    directions: int
    gates: int
    is_batch_major: bool

    @classmethod
    def of(cls, node: OnnxNode, directions: int, gates: int) -> _Shapes:
        """Return the extents of a node, after checking its inputs.

        Raises
        ------
        NotSupported
            an input is missing, or has another type or shape.
        """
        layout = int(node.attributes.get("layout", 0))
        data, hidden = shape_of(node.required(0)), shape_of(node.required(2))
        if len(data) != 3 or len(hidden) != 3 or 0 in data or 0 in hidden:
            raise NotSupported(
                f"inputs X and R have shapes {list(data)} and {list(hidden)}; both must have three "
                "axes, and elements"
            )
        steps, batch = (data[1], data[0]) if layout else (data[0], data[1])
        units = int(node.attributes.get("hidden_size", hidden[2]))
        shapes = cls(steps, batch, data[2], units, directions, gates, bool(layout))
        rows = gates * units
        shapes._require(node, 1, "W", (directions, rows, shapes.features))
        shapes._require(node, 2, "R", (directions, rows, units))
        shapes._require(node, 3, "B", (directions, 2 * rows))
        for index, name in ((5, "initial_h"), (6, "initial_c")):
            shapes._require(node, index, name, shapes.of_axes(shapes.state_axes))
        if dtype_of(node.required(0)) != "float32":
            raise NotSupported(f"X is of {dtype_of(node.required(0))}; supported: float32")
        return shapes

    @property
    def data_axes(self) -> str:
        return "btu" if self.is_batch_major else "tbu"

    @property
    def output_axes(self) -> str:
        return "btdu" if self.is_batch_major else "tdbu"

    @property
    def state_axes(self) -> str:
        return "bdu" if self.is_batch_major else "dbu"

    def of_axes(self, axes: str) -> tuple[int, ...]:
        """Return the extents of axes that are named by letters."""
        extents = {"t": self.steps, "b": self.batch, "d": self.directions, "u": self.units}
        return tuple(extents[axis] for axis in axes)

    def _require(self, node: OnnxNode, index: int, name: str, shape: tuple[int, ...]) -> None:
        value = node.input(index)
        if value is None:
            return
        if shape_of(value) != shape or dtype_of(value) != "float32":
            raise NotSupported(
                f"{name} (input {index}) is {dtype_of(value)}{list(shape_of(value))}; it should be "
                f"float32{list(shape)}"
            )


def _check_lengths(node: OnnxNode, shapes: _Shapes) -> None:
    """Check that all sequences have the full length."""
    lengths = node.constant(4, "sequence_lens (input 4)")
    if lengths is None:
        return
    if lengths.shape != (shapes.batch,) or (lengths != shapes.steps).any():
        raise NotSupported(
            f"sequence_lens (input 4) is {lengths.tolist()}, and the sequences have {shapes.steps} "
            "steps; only sequences of full length are computed: cut or pad them before"
        )


def _clip(node: OnnxNode) -> float | None:
    clip = node.attributes.get("clip")
    if clip is not None and not float(clip) > 0:
        raise NotSupported(f"clip is {clip}; it must be positive")
    return None if clip is None else float(clip)


def _functions(
    node: OnnxNode, defaults: tuple[str, ...], directions: int
) -> list[list[Activation]]:
    """Return the activations of each direction, with their alphas and betas."""
    attribute = node.attributes.get("activations") or ()
    names = [shown(bytes(name).decode(errors="replace")) for name in attribute] or [
        *defaults
    ] * directions
    if len(defaults) == directions == 1:
        # The attribute's default has two activations for RNN, one for each direction.
        names = names[:1] if len(names) == 2 else names
    expected = len(defaults) * directions
    if len(names) != expected:
        raise NotSupported(f"it has {len(names)} activations, and needs {expected}")
    values = {
        "activation_alpha": list(node.attributes.get("activation_alpha") or ()),
        "activation_beta": list(node.attributes.get("activation_beta") or ()),
    }
    if len(defaults) == 1 and len(names) > 1:
        _check_order(names, values)
    activations = [_activation(name, values, has_defaults=len(defaults) > 1) for name in names]
    return [activations[i : i + len(defaults)] for i in range(0, expected, len(defaults))]


def _check_order(names: Sequence[str], values: dict[str, list[float]]) -> None:
    """Check that it makes no difference whether the alphas of an RNN belong to the directions that
    need one (ONNX) or to all directions in order (onnxruntime)."""
    for place, (attribute, numbers) in enumerate(values.items()):
        needs = [name in _FUNCTIONS and _FUNCTIONS[name].takes[place] for name in names]
        if any(needs) and not (all(needs) and len(numbers) == len(names)):
            raise NotSupported(
                f"{attribute} {numbers} of activations {', '.join(names)}: runtimes disagree on "
                "which direction they are for; use activations without it"
            )


def _activation(name: str, values: dict[str, list[float]], has_defaults: bool) -> Activation:
    """Return an activation, and remove its parameters from the fronts of the lists in `values`."""
    if name not in _FUNCTIONS:
        raise NotSupported(f'activation "{name}" is not known; supported: {", ".join(_FUNCTIONS)}')
    function = _FUNCTIONS[name]
    parameters = []
    for place, (attribute, numbers) in enumerate(values.items()):
        default = function.defaults[place] if has_defaults else None
        if not function.takes[place]:
            parameters.append(0.0)
        elif numbers:
            parameters.append(float(numbers.pop(0)))
        elif default is not None:
            parameters.append(default)
        else:
            raise NotSupported(f"activation {name} has no {attribute}, and runtimes disagree on it")
    return Activation(function.name, *parameters)


def _weights(node: OnnxNode, shapes: _Shapes, direction: int) -> Weights:
    """Return the weights of one direction. The sum of two constant biases replaces them, unless a
    GRU needs both."""
    data, hidden = (_part(node, index, direction) for index in (1, 2))
    if node.input(3) is None:
        return Weights(data, hidden)
    both, rows = _part(node, 3, direction), shapes.gates * shapes.units
    if not isinstance(both, np.ndarray):
        begins = (0, rows)
        cut = (relax.op.strided_slice(both, [0], [begin], [begin + rows]) for begin in begins)
        return Weights(data, hidden, *map(node.builder.emit, cut))
    if shapes.gates == GruCell.gates and _resets_after(node):
        return Weights(data, hidden, both[:rows], both[rows:])
    return Weights(data, hidden, both[:rows] + both[rows:])


def _part(node: OnnxNode, index: int, direction: int) -> Expr | np.ndarray:
    """Return the slice of an input for one direction."""
    tensor = node.required(index)
    if isinstance(tensor, GenericConst):
        return np.ascontiguousarray(tensor.value.numpy()[direction])
    directions, *shape = shape_of(tensor)
    if directions > 1:
        tensor = node.builder.emit(
            relax.op.strided_slice(tensor, [0], [direction], [direction + 1])
        )
    return node.builder.emit(relax.op.reshape(tensor, tuple(shape)))


def _initial(node: OnnxNode, index: int, shapes: _Shapes) -> Placed:
    """Return an initial state; `recurrent_layer` starts from zeros if it gets a type only."""
    state = node.input(index)
    if state is None or _is_zero(state):
        state = relax.TensorType(shapes.of_axes(shapes.state_axes), "float32")
    return Placed(state, shapes.state_axes)


def _is_zero(tensor: Expr) -> bool:
    return isinstance(tensor, GenericConst) and not tensor.value.numpy().any()
