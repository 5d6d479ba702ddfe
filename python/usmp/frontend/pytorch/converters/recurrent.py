"""Converters of LSTMs, GRUs and RNNs to loops over the steps, which PyTorch would unroll."""

from __future__ import annotations

from collections.abc import Sequence
from operator import getitem
from typing import Any

import torch
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Missing, Operator, converts
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

_LAYERS = (
    torch.ops.aten.lstm.input,
    torch.ops.aten.gru.input,
    torch.ops.aten.rnn_tanh.input,
    torch.ops.aten.rnn_relu.input,
)


def layers_in_loops(program: Any) -> set[Any]:
    """Return the operators whose nodes are all convertible here; PyTorch decomposes the others."""
    nodes = [node for node in program.graph.nodes if node.target in _LAYERS]
    unrolled = {node.target for node in nodes if not _is_convertible(node)}
    return {node.target for node in nodes} - unrolled


def _is_convertible(node: Any) -> bool:
    """Return whether layers are float32, of fixed sizes, without projections, and for inference."""
    operator = Operator(node, relax.BlockBuilder(), lambda argument: argument)
    data = operator.meta("input")
    weights = _weights_of_layers(operator)
    is_static = all(type(extent) is int and extent > 0 for extent in data.shape)
    is_training = operator["train"] and operator["dropout"]
    return bool(
        data.dtype == torch.float32
        and data.ndim == 3
        and is_static
        and not is_training
        and len(weights) == operator["num_layers"]
        and all(len(tensors) == _count(operator) for layer in weights for tensors in layer)
    )


@converts("lstm.input")
def _lstm(operator: Operator) -> Sequence[Expr | Missing]:
    return _layers(operator, LstmCell(order=(0, 3, 1, 2)), operator["hx"])


@converts("gru.input")
def _gru(operator: Operator) -> Sequence[Expr | Missing]:
    cell = GruCell(resets_after=True, order=(1, 0, 2))
    return _layers(operator, cell, [operator["hx"]])


@converts("rnn_tanh.input", "rnn_relu.input")
def _rnn(operator: Operator) -> Sequence[Expr | Missing]:
    name = operator.node.target.__name__.removeprefix("rnn_").removesuffix(".input")
    return _layers(operator, RnnCell(Activation(name)), [operator["hx"]])


def _layers(operator: Operator, cell: Cell, initial: Sequence[Expr]) -> Sequence[Expr | Missing]:
    """Return the output of the last layer, and the states of all layers after the last step.

    Parameters
    ----------
    initial
        the states before the first step, (layers * directions, batch, units).
    """
    axes = "btu" if operator["batch_first"] else "tbu"
    data = Placed(operator["input"], axes)
    weights = _weights_of_layers(operator)
    states = [_state(tensor) for tensor in initial]
    units = int(initial[0].ty.shape[-1])
    directions = len(weights[0])
    outer = tuple(data.extent(axis) for axis in axes[:-1])
    for layer, of_layer in enumerate(weights):
        output: Any = relax.TensorType((*outer, directions, units), "float32")
        if layer == len(weights) - 1 and not _is_read(operator.node):
            output = None
        for direction, tensors in enumerate(of_layer):
            place = layer * directions + direction
            states, output = recurrent_layer(
                operator.builder,
                cell,
                data,
                Weights(*tensors),
                [Placed(state, "dbu", place) for state in states],
                None if output is None else Placed(output, axes[:-1] + "du", direction),
                backwards=direction == 1,
            )
        if output is None:
            return [Missing("has an output that nothing reads"), *states]
        joined = relax.op.reshape(output, (*outer, directions * units))
        data = Placed(operator.emit(joined), axes)
    return [data.tensor, *states]


def _state(tensor: Expr) -> Any:
    """Return the states before the first step, or only their type if they are constant zeros."""
    is_zero = isinstance(tensor, GenericConst) and not tensor.value.numpy().any()
    return tensor.ty if is_zero else tensor


def _is_read(node: Any) -> bool:
    """Return whether any node reads the output of the last layer."""
    parts = [user for user in node.users if user.target is getitem and user.users]
    return any(part.args[1] == 0 for part in parts)


def _weights_of_layers(operator: Operator) -> list[list[list[Any]]]:
    """Return the weights (of data, of hidden state) and biases of each layer and direction."""
    tensors, count = list(operator["params"]), _count(operator)
    groups = [tensors[i : i + count] for i in range(0, len(tensors), count)]
    directions = 2 if operator["bidirectional"] else 1
    return [groups[i : i + directions] for i in range(0, len(groups), directions)]


def _count(operator: Operator) -> int:
    """Return the number of weights and biases of a layer in one direction."""
    return 4 if operator["has_biases"] else 2
