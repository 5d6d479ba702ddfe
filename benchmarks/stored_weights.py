"""Measure instructions and RAM of models with int8 weights and float32 data.

    python benchmarks/stored_weights.py FLOAT.tflite ... [--board NAME ...]

The weights of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED are quantized to int8, with a scale
for each channel of a convolution. Each model is compiled three times: unchanged, with these weights
("dynamic range"), and with DEQUANTIZE after them ("weight-only").

Instructions are those of a run in QEMU. "difference" is the largest difference from the outputs of
LiteRT's reference kernels for the same file, relative to the largest output. "XNNPACK" is that of
LiteRT's default kernels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from random_inputs import random_inputs
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import usmp
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.frontend.tflite.importer import import_tflite

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.tflite_tables import with_schema

_AXES = {
    schema.BuiltinOperator.CONV_2D: 0,
    schema.BuiltinOperator.DEPTHWISE_CONV_2D: 3,
    schema.BuiltinOperator.FULLY_CONNECTED: None,
}
"""Operator -> axis of the scales of its weight; None for one scale."""

_HEADINGS = ("model", "weights", "board", "instructions", "RAM", "constants", "difference")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--board", nargs="+", default=["mps2-an385", "mps2-an386"])
    arguments = parser.parse_intermixed_args()
    table = Table(box=MARKDOWN)
    for heading in (*_HEADINGS, "XNNPACK"):
        table.add_column(heading, justify="left" if heading in _HEADINGS[:3] else "right")
    for path in arguments.models:
        content = path.read_bytes()
        ways = {
            "float32": content,
            "dynamic range": with_schema(content, lambda m: quantize_weights(m, False)),
            "weight-only": with_schema(content, lambda m: quantize_weights(m, True)),
        }
        for weights, stored in ways.items():
            differences = compared(stored)
            for board in arguments.board:
                row = [path.stem, weights, board, *measured(stored, board), *differences]
                table.add_row(*row)
    Console(width=170).print(table)


def measured(content: bytes, board_name: str) -> list[str]:
    """Return the instructions of a run on a board, and the bytes of RAM and of constants."""
    board = board_named(board_name)
    factory = usmp.build(import_tflite(content), "c", board=board)
    metadata = factory.metadata["modules"]["default"]
    run = EmulatedModule(factory.files(), metadata, board).run([random_inputs(factory)])
    (memory,) = metadata["memory"]["functions"]["main"]
    sizes = [memory[f"{kind}_size_bytes"] for kind in ("workspace", "constants")]
    return [str(number) for number in (run.instructions[0], *sizes)]


def compared(content: bytes) -> list[str]:
    """Return the differences of our outputs and of XNNPACK's from the reference kernels."""
    factory = usmp.build(import_tflite(content))
    inputs = random_inputs(factory)
    reference = outputs_of(content, inputs, OpResolverType.BUILTIN_REF)
    default = outputs_of(content, inputs, OpResolverType.AUTO)
    return [f"{difference(o, reference):.1e}" for o in (factory.run(inputs), default)]


def outputs_of(
    content: bytes, inputs: Mapping[str, np.ndarray], kernels: OpResolverType
) -> dict[str, np.ndarray]:
    """Return the outputs of LiteRT, by name."""
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for tensor in interpreter.get_input_details():
        interpreter.set_tensor(tensor["index"], inputs[tensor["name"]])
    interpreter.invoke()
    outputs = interpreter.get_output_details()
    return {tensor["name"]: interpreter.get_tensor(tensor["index"]) for tensor in outputs}


def difference(outputs: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    """Return the largest difference, relative to the largest magnitude of the output."""
    return max(
        float(np.abs(outputs[name] - values).max() / np.abs(values).max())
        for name, values in expected.items()
    )


def quantize_weights(model: Any, dequantizes: bool) -> None:
    """Quantize the weights of operators to int8, with DEQUANTIZE after them if `dequantizes`."""
    (graph,) = model.subgraphs
    operators: list[Any] = []
    quantized: dict[int, int] = {}
    for operator in graph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        weight = operator.inputs[1] if number in _AXES else -1
        if weight >= 0 and model.buffers[graph.tensors[weight].buffer].data is not None:
            if weight not in quantized:
                quantized[weight] = add_weight(model, graph, weight, _AXES[number])
                if dequantizes:
                    operators.append(add_dequantize(model, quantized[weight], weight))
            if not dequantizes:
                operator.inputs = [*operator.inputs]
                operator.inputs[1] = quantized[weight]
        operators.append(operator)
    graph.operators = operators
    for weight in quantized:
        graph.tensors[weight].buffer = 0


def add_weight(model: Any, graph: Any, index: int, axis: int | None) -> int:
    """Append a weight quantized to int8, and return its index."""
    tensor = graph.tensors[index]
    data = np.frombuffer(bytes(model.buffers[tensor.buffer].data), np.float32)
    data = data.reshape(tensor.shape)
    others = None if axis is None else tuple(a for a in range(data.ndim) if a != axis)
    largest = np.abs(data).max(axis=others, keepdims=True)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    stored = np.clip(np.round(data / scales), -127, 127).astype(np.int8)
    buffer, weight = schema.BufferT(), schema.TensorT()
    buffer.data = np.frombuffer(stored.tobytes(), np.uint8)
    model.buffers.append(buffer)
    weight.name, weight.shape, weight.type = b"int8", tensor.shape, schema.TensorType.INT8
    weight.buffer = len(model.buffers) - 1
    weight.quantization = schema.QuantizationParametersT()
    weight.quantization.scale = scales.ravel().tolist()
    weight.quantization.zeroPoint = [0] * scales.size
    weight.quantization.quantizedDimension = axis or 0
    graph.tensors.append(weight)
    return len(graph.tensors) - 1


def add_dequantize(model: Any, stored: int, real: int) -> Any:
    """Return a DEQUANTIZE operator from tensor `stored` to tensor `real`."""
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.DEQUANTIZE
    code.version = 2
    model.operatorCodes.append(code)
    operator = schema.OperatorT()
    operator.opcodeIndex = len(model.operatorCodes) - 1
    operator.inputs, operator.outputs = [stored], [real]
    return operator


if __name__ == "__main__":
    main()
