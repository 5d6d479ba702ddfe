"""Allow-list for `models/model.json`: the schema of `torch.export` without fields that run code.

Source: PyTorch, torch/_export/serde/schema.py. Excluded are objects of classes (`as_custom_obj`),
operators as arguments, tokens, launches of Triton kernels, and guards (Python code). The compiler
does not need the origins of nodes and the signatures of submodules.
"""

from __future__ import annotations

from typing import Any

from usmp.frontend.pytorch.pt2.expressions import expression, symbol
from usmp.frontend.pytorch.pt2.json_checks import (
    always,
    boolean,
    dict_of,
    identifier,
    integer,
    list_of,
    nullable,
    number,
    one_of,
    record,
    refused,
    text,
    union,
)
from usmp.frontend.pytorch.pt2.operators import operator_name
from usmp.frontend.pytorch.pt2.tree_specs import tree_spec
from usmp.support.errors import UnsupportedModelError

_STRIDED = 7
_PLAIN_TEXT = text(r"[ -~]{0,1000}")

PATH = text(r"[\w\-]+(\.[\w\-]+)*")
"""The name of a parameter, such as `features.0.weight`."""


def _device_type(value: Any, where: str) -> str:
    if isinstance(value, str) and value.isalpha() and value != "cpu":
        raise UnsupportedModelError(
            f'the program has tensors on the device "{value}"; move the model and its inputs to '
            "the cpu before the export"
        )
    passed: str = one_of("cpu")(value, where)
    return passed


def _graph(value: Any, where: str) -> Any:
    return GRAPH(value, where)


_HINT = union({"as_int": integer, "as_bool": boolean, "as_float": number})
_EXPRESSION = record({"expr_str": expression, "hint": nullable(_HINT)})
_SYM_INT = union({"as_expr": _EXPRESSION, "as_int": integer})
_SYM_FLOAT = union({"as_expr": _EXPRESSION, "as_float": number})
_SYM_BOOL = union({"as_expr": _EXPRESSION, "as_bool": boolean})
_DEVICE = record({"type": _device_type, "index": nullable(one_of(0))})

TENSOR_META = record(
    {
        "dtype": integer,
        "sizes": list_of(_SYM_INT),
        "requires_grad": boolean,
        "device": _DEVICE,
        "strides": list_of(_SYM_INT),
        "storage_offset": _SYM_INT,
        "layout": one_of(_STRIDED),
    }
)

_TENSOR = record({"name": identifier})
_SYM_INT_ARGUMENT = union({"as_name": identifier, "as_int": integer})
_SYM_FLOAT_ARGUMENT = union({"as_name": identifier, "as_float": number})
_SYM_BOOL_ARGUMENT = union({"as_name": identifier, "as_bool": boolean})
_OPTIONAL_TENSOR = union({"as_tensor": _TENSOR, "as_none": boolean})
_ARGUMENT = union(
    {
        "as_none": boolean,
        "as_tensor": _TENSOR,
        "as_tensors": list_of(_TENSOR),
        "as_int": integer,
        "as_ints": list_of(integer),
        "as_float": number,
        "as_floats": list_of(number),
        "as_string": _PLAIN_TEXT,
        "as_strings": list_of(_PLAIN_TEXT),
        "as_sym_int": _SYM_INT_ARGUMENT,
        "as_sym_ints": list_of(_SYM_INT_ARGUMENT),
        "as_scalar_type": integer,
        "as_memory_format": integer,
        "as_layout": one_of(_STRIDED),
        "as_device": _DEVICE,
        "as_bool": boolean,
        "as_bools": list_of(boolean),
        "as_sym_bool": _SYM_BOOL_ARGUMENT,
        "as_sym_bools": list_of(_SYM_BOOL_ARGUMENT),
        "as_graph": record({"name": identifier, "graph": _graph}),
        "as_optional_tensor": _OPTIONAL_TENSOR,
        "as_optional_tensors": list_of(_OPTIONAL_TENSOR),
        "as_sym_float": _SYM_FLOAT_ARGUMENT,
        "as_sym_floats": list_of(_SYM_FLOAT_ARGUMENT),
        "as_complex": record({"real": number, "imag": number}),
        "as_nested_tensors": list_of(list_of(_TENSOR)),
    }
)


def _argument_name(value: Any, where: str) -> str:
    """Check the name of an argument; a positional argument may have none."""
    return "" if value == "" else identifier(value, where)


_NAMED_ARGUMENT = record(
    {"name": _argument_name, "arg": _ARGUMENT, "kind": nullable(one_of(0, 1, 2))}
)
_NODE = record(
    {
        "target": operator_name,
        "inputs": list_of(_NAMED_ARGUMENT),
        "outputs": list_of(_ARGUMENT),
        "metadata": always({}),
        "is_hop_single_tensor_return": nullable(boolean),
        "name": nullable(identifier),
    }
)


def _empty(value: Any, where: str) -> Any:
    if value:
        raise refused(value, where, "and must be empty")
    return value


GRAPH = record(
    {
        "inputs": list_of(_ARGUMENT),
        "outputs": list_of(_ARGUMENT),
        "nodes": list_of(_NODE),
        "tensor_values": dict_of(identifier, TENSOR_META),
        "sym_int_values": dict_of(identifier, _SYM_INT),
        "sym_bool_values": dict_of(identifier, _SYM_BOOL),
        "is_single_tensor_return": boolean,
        "custom_obj_values": _empty,
        "sym_float_values": dict_of(identifier, _SYM_FLOAT),
    }
)

_CONSTANT = union(
    {
        "as_none": boolean,
        "as_int": integer,
        "as_float": number,
        "as_string": _PLAIN_TEXT,
        "as_bool": boolean,
    }
)
_INPUT_SPEC = union(
    {
        "user_input": record({"arg": _ARGUMENT}),
        "parameter": record({"arg": _TENSOR, "parameter_name": PATH}),
        "buffer": record({"arg": _TENSOR, "buffer_name": PATH, "persistent": boolean}),
        "tensor_constant": record({"arg": _TENSOR, "tensor_constant_name": PATH}),
        "constant_input": record({"name": identifier, "value": _CONSTANT}),
    }
)
_OUTPUT_SPEC = union(
    {
        "user_output": record({"arg": _ARGUMENT}),
        "loss_output": record({"arg": _TENSOR}),
        "buffer_mutation": record({"arg": _TENSOR, "buffer_name": PATH}),
        "parameter_mutation": record({"arg": _TENSOR, "parameter_name": PATH}),
        "user_input_mutation": record({"arg": _TENSOR, "user_input_name": identifier}),
    }
)
_SIGNATURE = record({"input_specs": list_of(_INPUT_SPEC), "output_specs": list_of(_OUTPUT_SPEC)})
_CALL = record(
    {
        "inputs": list_of(_ARGUMENT),
        "outputs": list_of(_ARGUMENT),
        "in_spec": tree_spec,
        "out_spec": tree_spec,
        "forward_arg_names": nullable(list_of(identifier)),
    }
)
_CALLS = list_of(record({"fqn": one_of(""), "signature": _CALL}))


def _call_of_the_program(value: Any, where: str) -> Any:
    """Check the signature of the program, and drop those of its submodules, which are not used."""
    if not isinstance(value, list):
        raise refused(value, where, "not a list")
    return _CALLS([e for e in value if isinstance(e, dict) and e.get("fqn") == ""], where)


_GRAPH_MODULE = record(
    {
        "graph": GRAPH,
        "signature": _SIGNATURE,
        "module_call_graph": _call_of_the_program,
        "metadata": always({}),
        "treespec_namedtuple_fields": always({}),
    }
)


def _size(value: Any, where: str) -> str:
    """Check the name of a size; PyTorch cannot read the range of an expression of sizes."""
    if isinstance(value, str) and not value.isidentifier() and expression(value, where):
        raise UnsupportedModelError(
            f"an extent of an input is {value}, which is computed of another size; export the "
            "model with a torch.export.Dim of its own for each extent"
        )
    return symbol(value, where)


PROGRAM = record(
    {
        "graph_module": _GRAPH_MODULE,
        "opset_version": dict_of(identifier, integer),
        "range_constraints": dict_of(
            _size, record({"min_val": nullable(integer), "max_val": nullable(integer)})
        ),
        "schema_version": record({"major": integer, "minor": integer}),
        "verifiers": list_of(one_of("", "ATEN", "TRAINING")),
        "torch_version": _PLAIN_TEXT,
        "guards_code": always([]),
    }
)
"""The check of the whole file."""
