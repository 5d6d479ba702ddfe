"""LiteRT with TFLite's reference kernels: what outputs are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from support.lazy import lazy
from support.tflite_tensors import GraphTensor, graph_tensors, random_inputs

interpreter = lazy("ai_edge_litert.interpreter")


class Reference:
    """A model in the reference runtime."""

    KERNELS = "BUILTIN_REF"

    def __init__(self, model: Path | bytes) -> None:
        self._content = model if isinstance(model, bytes) else model.read_bytes()
        self._interpreter = interpreter.Interpreter(
            model_content=self._content,
            experimental_op_resolver_type=interpreter.OpResolverType[self.KERNELS],
        )
        self._interpreter.allocate_tensors()
        self._inputs = self._interpreter.get_input_details()
        self._outputs = self._interpreter.get_output_details()

    def random_inputs(self, seed: int) -> dict[str, np.ndarray]:
        """Normal floats; integers from the whole range of their type."""
        inputs, _ = graph_tensors(self._content)
        return random_inputs(inputs, seed)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        outputs = self.run_in_order([inputs[tensor["name"]] for tensor in self._inputs])
        return {t["name"]: value for t, value in zip(self._outputs, outputs, strict=True)}

    def run_in_order(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs in the order of the model."""
        for tensor, value in zip(self._inputs, inputs, strict=True):
            self._interpreter.set_tensor(tensor["index"], value)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(tensor["index"]) for tensor in self._outputs]


class OptimizedReference(Reference):
    """A model in LiteRT with the kernels for this processor, where no other kernel is."""

    KERNELS = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"


class SignatureReference:
    """A model of several signatures in the reference runtime, which all see the same variables."""

    def __init__(self, content: bytes) -> None:
        self._interpreter = interpreter.Interpreter(
            model_content=content,
            experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
        )
        keys = self._interpreter.get_signature_list()
        self._runners = {key: self._interpreter.get_signature_runner(key) for key in keys}

    @property
    def keys(self) -> list[str]:
        """Of the signatures, in the order of the file."""
        return list(self._runners)

    def random_inputs(self, key: str, seed: int) -> dict[str, np.ndarray]:
        """Normal floats; integers from the whole range of their type."""
        details = self._runners[key].get_input_details()
        tensors = [
            GraphTensor(name, tuple(map(int, tensor["shape"])), np.dtype(tensor["dtype"]), 0)
            for name, tensor in details.items()
        ]
        return random_inputs(tensors, seed)

    def run(self, key: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        return {name: np.asarray(v) for name, v in self._runners[key](**inputs).items()}
