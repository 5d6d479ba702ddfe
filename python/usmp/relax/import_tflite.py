"""TFLite flatbuffers to Relax, through TVM's importer."""

from __future__ import annotations

from typing import Any

import tflite
from tvm.ir import IRModule
from tvm.relax.frontend.tflite import from_tflite
from tvm.relax.frontend.tflite.tflite_frontend import OperatorConverter

from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.objects.errors import UnsupportedModelError
from usmp.relax.check_tflite import check_tflite, operator_name, tensor_name

_LONGEST_MESSAGE = 400


def import_tflite(content: bytes) -> IRModule:
    """Import a `.tflite` file with one subgraph.

    Raises
    ------
    UnsupportedModelError: the content is damaged or not TFLite, an input has a dynamic shape, or
        an operator cannot be imported.
    """
    model = check_tflite(content)
    graph = model.Subgraphs(0)
    names = [tensor_name(graph, int(graph.Outputs(i))) for i in range(graph.OutputsLength())]
    converters: list[_Converter] = []

    def converter(*arguments: Any) -> _Converter:
        converters.append(_Converter(*arguments))
        return converters[-1]

    try:
        mod = from_tflite(model, op_converter=converter)
    except Exception as error:
        # TVM's importer raises many kinds of exceptions; each means that it cannot import this.
        operator = converters[-1].operator if converters else None
        where = f" at operator {operator}" if operator else ""
        raise UnsupportedModelError(
            f"TVM's TFLite importer failed{where}: {_one_line(error)}"
        ) from error
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr(OUTPUT_NAMES_ATTR, names))
    return mod


class _Converter(OperatorConverter):  # type: ignore[misc]
    """TVM's converter, which also tells the operator that it is at."""

    operator: str | None = None
    _converting = False

    def convert_op_to_relax(self) -> None:
        self._converting = True
        super().convert_op_to_relax()
        self.operator = None

    def get_op_code_str(self, op: tflite.Operator) -> str:
        self.operator = operator_name(self.model, op)
        code: str = super().get_op_code_str(op)
        if not self._converting:
            self.operator = None
        return code


def _one_line(error: Exception) -> str:
    """The kind of the error, and the part of it that a user can do something with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = ": ".join([type(error).__name__, *[" ".join(lines[:3])] * bool(lines)])
    return text[:_LONGEST_MESSAGE]
