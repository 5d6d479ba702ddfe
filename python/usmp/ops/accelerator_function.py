"""A function that runs on an accelerator, as the user must write it in C."""

from __future__ import annotations

from typing import Any

from tvm_ffi.dataclasses import py_class

from usmp.objects.ffi_object import FFIObject


@py_class("usmp.AcceleratorParameter")
class AcceleratorParameter(FFIObject):
    """A tensor that the function gets a pointer to.

    Parameters
    ----------
    name
        in C.
    role
        "input", "constant", "output" or "workspace".
    shape
        extents, outermost first.
    dtype
        element type as numpy writes it.
    """

    name: str
    role: str
    shape: list[int]
    dtype: str

    @property
    def is_read_only(self) -> bool:
        """Whether the function may only read it."""
        return self.role in ("input", "constant")


@py_class("usmp.AcceleratorOperator")
class AcceleratorOperator(FFIObject):
    """One of the operators that the function computes.

    Parameters
    ----------
    name
        as Relax has it, without "relax."; or of the quantized operator.
    arguments
        names of parameters, results of earlier operators, or literals.
    results
        what it gives, by name.
    attributes
        name -> what else it is made from, as JSON has it.
    quantization
        of an integer operator: "inputs" and "outputs" -> how each tensor is quantized, as in its
        record (`usmp.ops.records.QuantizedOp`); empty for others.
    """

    name: str
    arguments: list[str]
    results: list[str]
    attributes: dict[str, Any]
    quantization: dict[str, Any]


@py_class("usmp.AcceleratorFunction")
class AcceleratorFunction(FFIObject):
    """A function that the user provides: its C declaration, and what it computes.

    After its tensors it is passed the handle of the accelerator. It returns 0, or an error; or
    nothing, if it cannot fail.

    Parameters
    ----------
    symbol
        its name in C.
    accelerator
        the target that it runs on.
    composite
        name of the pattern that it came from; empty if there was none.
    parameters
        inputs, constants, outputs and workspace, in the order of C.
    operators
        in the order of computation.
    can_fail
        whether it returns a status.
    index
        its number among the functions of its accelerator, in the order of the calls.
    """

    symbol: str
    accelerator: str
    composite: str
    parameters: list[AcceleratorParameter]
    operators: list[AcceleratorOperator]
    can_fail: bool = True
    index: int = 0
