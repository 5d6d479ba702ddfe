"""What a TFLite model keeps between runs: variables, and tensors of recurrent operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.model import TfliteOperator

Identity = tuple[str, str]
"""Container and shared name of a variable."""


@dataclass
class State:
    """A tensor that is kept between runs.

    Parameters
    ----------
    before
        its value before the run, a parameter of the function.
    after
        its value so far in this run.
    initial
        its value before the first run.
    """

    before: relax.Var
    after: relax.Expr
    initial: np.ndarray


@dataclass
class Variable:
    """A variable that a handle names.

    Parameters
    ----------
    default
        the byte that an element starts from that nothing initializes.
    initial
        the value before the first run, if CALL_ONCE sets it.
    state
        what the function takes and gives; None as long as nothing uses the variable.
    """

    name: str
    default: int | None = None
    initial: np.ndarray | None = None
    state: State | None = None


@dataclass
class Variables:
    """The variables of a model, and the handles of its main graph that stand for them."""

    by_identity: dict[Identity, Variable] = field(default_factory=dict)
    handles: dict[int, Variable] = field(default_factory=dict)

    def find(self, operators: Iterable[TfliteOperator]) -> dict[int, Variable]:
        """Enter the variables that operators use, and return what their handles stand for.

        What is assigned to a variable first, and in no CALL_ONCE, is what it starts from.
        """
        handles: dict[int, Variable] = {}
        for operator in operators:
            if operator.name == "VAR_HANDLE":
                handles[operator.output.index] = self._named(operator)
            elif operator.name == "ASSIGN_VARIABLE":
                variable = variable_of(operator, handles)
                quantization = operator.input(1).quantization
                if variable.default is None:
                    variable.default = quantization.zero_points[0] % 256 if quantization else 0
        return handles

    def _named(self, operator: TfliteOperator) -> Variable:
        """The variable that a VAR_HANDLE names; one without container takes any container."""
        options = operator.options(tflite.VarHandleOptions)
        container, name = _text(options.Container()), _text(options.SharedName())
        for (other_container, other_name), variable in self.by_identity.items():
            if other_name == name and container in ("", other_container):
                return variable
        return self.by_identity.setdefault((container, name), Variable(name or "variable"))


def variable_of(operator: TfliteOperator, handles: Mapping[int, Variable]) -> Variable:
    """The variable that the operator's first input stands for.

    Raises
    ------
    UnsupportedModelError
        no VAR_HANDLE wrote it.
    """
    handle = operator.input(0)
    if handle.index not in handles:
        raise operator.unsupported(f'"{handle.name}" is not the result of a VAR_HANDLE')
    return handles[handle.index]


def _text(value: bytes | None) -> str:
    return value.decode("utf-8", errors="replace") if value else ""
