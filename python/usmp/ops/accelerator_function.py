"""The declaration of a function for an accelerator, which the user implements in C."""

from __future__ import annotations

from typing import Any

from tvm_ffi.dataclasses import py_class

from usmp.objects.ffi_object import FFIObject


@py_class("usmp.AcceleratorParameter")
class AcceleratorParameter(FFIObject):
    """A tensor that is passed to the function by a pointer.

    Parameters
    ----------
    name
        name in C.
    role
        "input", "constant", "output" or "workspace".
    shape
        extents, outermost first.
    dtype
        element type, as in NumPy.
    """

    name: str
    role: str
    shape: list[int]
    dtype: str

    @property
    def is_read_only(self) -> bool:
        """Whether the function must not write the tensor."""
        return self.role in ("input", "constant")


@py_class("usmp.AcceleratorOperator")
class AcceleratorOperator(FFIObject):
    """An operator that the function computes.

    Parameters
    ----------
    name
        name in Relax, without "relax."; or of the quantized operator.
    arguments
        names of parameters, results of earlier operators, or literals.
    results
        names of the results.
    attributes
        name -> value of another parameter of the operator, as data for JSON.
    quantization
        for an integer operator: "inputs" and "outputs" -> quantization of each tensor, as in its
        record (`usmp.ops.records.QuantizedOp`); empty for other operators.
    """

    name: str
    arguments: list[str]
    results: list[str]
    attributes: dict[str, Any]
    quantization: dict[str, Any]


@py_class("usmp.AcceleratorFunction")
class AcceleratorFunction(FFIObject):
    """A function that the user provides: its C declaration, and its operators.

    In C, the handle of the accelerator follows the tensors. The function returns 0 or an error, or
    nothing if it cannot fail.

    Parameters
    ----------
    symbol
        name in C.
    accelerator
        name of the target that runs it.
    composite
        name of the pattern that it matched; empty if there was none.
    parameters
        inputs, constants, outputs and workspace, in the order of C.
    operators
        its operators, in the order of computation.
    can_fail
        whether it returns a status.
    index
        number among the functions of its accelerator, in the order of the calls.
    """

    symbol: str
    accelerator: str
    composite: str
    parameters: list[AcceleratorParameter]
    operators: list[AcceleratorOperator]
    can_fail: bool = True
    index: int = 0
