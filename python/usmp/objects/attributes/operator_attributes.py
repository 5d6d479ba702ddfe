"""The attributes of PrimFuncs that compute operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.objects.attributes.attribute import Attribute, names, plain
from usmp.objects.operator_step import OperatorStep

if TYPE_CHECKING:
    from usmp.objects.extern_kernel import ExternKernel
    from usmp.ops.accelerator_function import AcceleratorFunction

_OPERATOR, _PRIM_FUNC = "PrimFunc of an operator", "PrimFunc"

OPERATORS_ATTR: Attribute[Sequence[Sequence[Mapping[str, Any]]]] = Attribute(
    "quantized_operators",
    _OPERATOR,
    "the integer operators that it computes, in order, once equal ones are merged. Each is a list "
    "of the records of those that share the code, as JSON has them",
    encode=list,
)

OPERATOR_STEPS_ATTR: Attribute[Sequence[OperatorStep]] = Attribute(
    "operator_steps",
    _OPERATOR,
    "from fusion on, and always if an accelerator runs it, an `OperatorStep` for each of the "
    "operators that it computes, in order",
    lambda steps: tuple(OperatorStep.from_json(step) for step in steps),
    lambda steps: [step.as_json() for step in steps],
)

CODE_HASH_ATTR: Attribute[int] = Attribute(
    "code_hash",
    _OPERATOR,
    "the structural hash that a PrimFunc with `quantized_operator` has without its record",
    int,
)

SHARED_CODE_ATTR: Attribute[str] = Attribute(
    "shares_code_with",
    _OPERATOR,
    "the name of an earlier PrimFunc that is equal but for the record",
    str,
)

OPERATOR_SHAPES_ATTR: Attribute[Mapping[str, Sequence[int]]] = Attribute(
    "operator_shapes",
    _OPERATOR,
    "the shapes of its tensors before they became flat, by the names of parameters",
    plain,
)

EXTERN_KERNELS_ATTR: Attribute[Sequence[ExternKernel]] = Attribute(
    "extern_kernels",
    _PRIM_FUNC,
    "an `ExternKernel` for each function that it calls by `T.call_extern` and that states what it "
    "does (`usmp.objects.extern_kernel.with_kernels`)",
    list,
    list,
)

SEGMENT_ATTR: Attribute[Mapping[str, Any]] = Attribute(
    "segment",
    "PrimFunc of a segment",
    "the operators that run interleaved. Their names in order, `operators`; whether by rows or "
    "columns, `by`; bytes of the tensors between them that are kept, `ring_size_bytes`, of all "
    "that they would have, `tensor_size_bytes`, and of what is moved in a run, `moved_bytes`",
    plain,
)

MERGED_FUNCTIONS_ATTR: Attribute[Sequence[str]] = Attribute(
    "merged_functions",
    _PRIM_FUNC,
    "the names of the operators that share it, and call it "
    "(`usmp.transform.MergeSimilarFunctions`)",
    names,
    list,
)

SHARED_FUNCTION_ATTR: Attribute[str] = Attribute(
    "shared_function",
    _PRIM_FUNC,
    "the name of the PrimFunc that an operator calls and does nothing else",
    str,
)

ACCELERATOR_FUNCTION_ATTR: Attribute[AcceleratorFunction] = Attribute(
    "accelerator_function",
    _PRIM_FUNC,
    "the `AcceleratorFunction` of the user that it calls",
)
