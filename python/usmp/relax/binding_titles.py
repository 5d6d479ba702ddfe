"""Names of Relax operators and results in messages, so that users find them in the model."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call, GlobalVar, Op

from usmp.support.model_operators import titles
from usmp.support.text.plain_text import shown
from usmp.tir.model_operator import operators_in, result_names
from usmp.tir.op_names import op_name


def operator_title(value: relax.Expr) -> str:
    """Return the name of the operator or PrimFunc that a value calls, or "" for other values.

    Parameters
    ----------
    value
        the value that a variable is bound to.
    """
    if not isinstance(value, Call):
        return ""
    if isinstance(value.op, Op) and value.args and isinstance(value.args[0], GlobalVar):
        return str(value.args[0].name_hint)  # The callee of R.call_tir.
    return op_name(value).removeprefix("relax.")


def call_title(call: Call) -> str:
    """Return the operators of the model file that a call computes, as `operator 1 CONV_2D (8x8x4)`,
    or else the name of the called operator or PrimFunc."""
    of_file = titles([operator.as_json() for operator in operators_in(call.span)])
    return of_file or operator_title(call)


def result_title(binding: relax.VarBinding) -> str:
    """Return the variable and the operator of a binding, as `tensor lv, the result of nn.relu,`.

    If the module comes from a model file, use the names of the file, as in `tensor sum of operator
    1 ADD (8x8x4)`.
    """
    value = binding.value
    operators = operators_in(getattr(value, "span", None))
    if operators:
        of_file = titles([operator.as_json() for operator in operators])
        name = next(iter(result_names(value.span)), binding.var.name)
        return f"tensor {shown(name)} of {of_file}"
    name = operator_title(value)
    result = f", the result of {shown(name)}," if name else ""
    return f"tensor {shown(binding.var.name)}{result}"
