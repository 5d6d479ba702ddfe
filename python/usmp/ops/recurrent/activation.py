"""The activation functions of recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

_Function = Callable[[tirx.Expr, tirx.Expr, tirx.Expr], tirx.Expr]
"""Maps x, alpha and beta to the value of a function."""


def _number(value: float) -> tirx.Expr:
    return tirx.FloatImm("float32", value)


def _within(x: tirx.Expr, low: float, high: float) -> tirx.Expr:
    return tirx.min(tirx.max(x, _number(low)), _number(high))


def _leaky_relu(x: tirx.Expr, alpha: tirx.Expr, _: tirx.Expr) -> tirx.Expr:
    return tirx.Select(x >= _number(0), x, alpha * x)


def _elu(x: tirx.Expr, alpha: tirx.Expr, _: tirx.Expr) -> tirx.Expr:
    return tirx.Select(x >= _number(0), x, alpha * (tirx.exp(x) - _number(1)))


_FUNCTIONS: dict[str, _Function] = {
    "affine": lambda x, alpha, beta: alpha * x + beta,
    "elu": _elu,
    "hard_sigmoid": lambda x, alpha, beta: _within(alpha * x + beta, 0, 1),
    "identity": lambda x, alpha, beta: x,
    "leaky_relu": _leaky_relu,
    "relu": lambda x, alpha, beta: tirx.max(x, _number(0)),
    "relu6": lambda x, alpha, beta: _within(x, 0, 6),
    "relu_n1_to_1": lambda x, alpha, beta: _within(x, -1, 1),
    "scaled_tanh": lambda x, alpha, beta: alpha * tirx.tanh(beta * x),
    "sigmoid": lambda x, alpha, beta: tirx.sigmoid(x),
    "softplus": lambda x, alpha, beta: tirx.log(_number(1) + tirx.exp(x)),
    "softsign": lambda x, alpha, beta: x / (_number(1) + tirx.abs(x)),
    "tanh": lambda x, alpha, beta: tirx.tanh(x),
    "thresholded_relu": lambda x, alpha, beta: tirx.Select(x > alpha, x, _number(0)),
}


@dataclass(frozen=True)
class Activation:
    """A function of float32.

    Parameters
    ----------
    name
        one of "affine" (alpha * x + beta), "elu", "hard_sigmoid" (alpha * x + beta between 0 and
        1), "identity", "leaky_relu", "relu", "relu6", "relu_n1_to_1", "scaled_tanh" (alpha *
        tanh(beta * x)), "sigmoid", "softplus", "softsign", "tanh" and "thresholded_relu" (x above
        alpha, else 0).
    alpha, beta
        parameters of the function, if it has them.
    """

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def of(self, x: tirx.Expr) -> tirx.Expr:
        """Return the value at `x`, which may be evaluated more than once."""
        return _FUNCTIONS[self.name](x, _number(self.alpha), _number(self.beta))


SIGMOID, TANH = Activation("sigmoid"), Activation("tanh")
