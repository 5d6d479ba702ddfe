"""Random expressions, and what numpy computes for them.

The expressions avoid what TIR does not define: overflow of 32 and 64 bits, division by zero,
shifts and casts out of range.
"""

import ctypes
from dataclasses import dataclass
from random import Random

import numpy as np
import tvm
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import Call, IRModule, TensorLoad, Var

COUNT = 64
"""Inputs for each expression."""

NARROW = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
}
WIDE = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1)}
LIMITS = NARROW | WIDE
INTEGERS = list(LIMITS)
DTYPES = [*INTEGERS, "float32", "bool"]
INPUT_LIMITS = NARROW | {
    "int32": (-(2**20), 2**20),
    "int64": (-(2**40), 2**40),
    "uint32": (0, 2**20),
    "float32": (0, 0),
    "bool": (0, 1),
}
COMPARISONS = [tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE]
BUFFERS = {dtype: tirx.decl_buffer((COUNT,), dtype, f"in_{dtype}") for dtype in DTYPES}
INDEX = tirx.Var("i", "int32")


@dataclass(frozen=True)
class Typed:
    """An expression and, for integers, the range of its values."""

    expr: tirx.Expr
    low: int = 0
    high: int = 0

    @property
    def dtype(self):
        return str(self.expr.ty.dtype)


class Generator:
    """Draws expressions. Operations of constants alone are avoided: TVM folds them."""

    def __init__(self, seed, dtypes):
        self.random = Random(seed)
        self.numbers = [dtype for dtype in dtypes if dtype != "bool"]
        self.dtypes = dtypes

    def expression(self, dtype, depth):
        if depth == 0:
            return Typed(BUFFERS[dtype][INDEX], *INPUT_LIMITS[dtype])
        draw = {"bool": self.boolean, "float32": self.floating}.get(dtype, self.integer)
        return draw(dtype, depth - 1) or self.expression(dtype, 0)

    def operand(self, dtype, depth):
        """The second operand of an operation: an expression or a constant."""
        if dtype == "bool" or self.random.random() < 0.6:
            return self.expression(dtype, depth)
        if dtype == "float32":
            value = self.random.choice([0.5, -3.75, 1e-3, 7.0, 1e10])
            return Typed(tirx.FloatImm(dtype, value))
        least, greatest = LIMITS[dtype]
        value = self.random.choice([0, 1, 2, 7, 100, least, greatest, self.random.randint(0, 99)])
        return Typed(tirx.IntImm(dtype, value), value, value)

    def conditional(self, dtype, depth):
        condition = self.expression("bool", depth).expr
        a, b = self.expression(dtype, depth), self.operand(dtype, depth)
        choose = self.random.choice([tirx.Select, tirx.if_then_else])
        return Typed(choose(condition, a.expr, b.expr), min(a.low, b.low), max(a.high, b.high))

    def boolean(self, dtype, depth):
        kind = self.random.choice(["compare", "compare", "logic", "not", "cast", "choose"])
        if kind == "choose":
            return self.conditional(dtype, depth)
        if kind == "not":
            negate = self.random.choice([tirx.Not, lambda e: ~e])
            return Typed(negate(self.expression(dtype, depth).expr))
        if kind == "logic":
            a, b = (self.expression(dtype, depth).expr for _ in range(2))
            operations = [tirx.And, tirx.Or, tirx.EQ, tirx.NE, tirx.BitwiseAnd, tirx.BitwiseXor]
            return Typed(self.random.choice(operations)(a, b))
        other = self.random.choice(self.numbers)
        a = self.expression(other, depth).expr
        if kind == "cast":
            return Typed(tirx.Cast(dtype, a))
        b = self.operand(other, depth).expr
        a, b = (a, b) if self.random.random() < 0.5 else (b, a)
        return Typed(self.random.choice(COMPARISONS)(a, b))

    def floating(self, dtype, depth):
        kind = self.random.choice(["arithmetic", "arithmetic", "choose", "cast", "call"])
        if kind == "choose":
            return self.conditional(dtype, depth)
        if kind == "cast":
            source = self.random.choice([*INTEGERS, "bool"])
            return Typed(tirx.Cast(dtype, self.expression(source, depth).expr))
        a = self.expression(dtype, depth).expr
        if kind == "call":
            functions = [tirx.floor, tirx.ceil, tirx.trunc, tirx.round, tirx.abs, tirx.sqrt]
            return Typed(self.random.choice(functions)(a))
        operations = [tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max]
        return Typed(self.random.choice(operations)(a, self.operand(dtype, depth).expr))

    def integer(self, dtype, depth):
        kind = self.random.choice(
            ["arithmetic", "arithmetic", "divide", "extreme", "choose", "cast", "bits", "shift"]
        )
        if kind == "choose":
            return self.conditional(dtype, depth)
        if kind == "cast":
            return self.cast(dtype, depth)
        a = self.expression(dtype, depth)
        if kind == "divide":
            return self.division(a, depth)
        if kind == "shift":
            return self.shift(a)
        b = self.operand(dtype, depth)
        if kind == "extreme":
            operation, choose = self.random.choice([(tirx.Min, min), (tirx.Max, max)])
            return Typed(operation(a.expr, b.expr), choose(a.low, b.low), choose(a.high, b.high))
        if kind == "bits":
            operations = [tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor, lambda a, _: ~a]
            return Typed(self.random.choice(operations)(a.expr, b.expr), *LIMITS[dtype])
        operation, evaluate = self.random.choice(
            [(tirx.Add, int.__add__), (tirx.Sub, int.__sub__), (tirx.Mul, int.__mul__)]
        )
        corners = [evaluate(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return in_range(operation(a.expr, b.expr), min(corners), max(corners))

    def division(self, a, depth):
        """Division by a constant, or by something that is at least 1."""
        operations = [tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod]
        operation = self.random.choice(operations)
        least, greatest = LIMITS[a.dtype]
        one = tirx.IntImm(a.dtype, 1)
        if self.random.random() < 0.5:
            divisor = tirx.IntImm(a.dtype, self.random.choice([1, 2, 3, 7, 8, 100]))
        else:
            divisor = tirx.Max(self.expression(a.dtype, depth).expr, one)
        bound = max(abs(a.low), abs(a.high)) + 1
        return Typed(operation(a.expr, divisor), max(least, -bound), min(greatest, bound))

    def shift(self, a):
        bits = np.dtype(a.dtype).itemsize * 8
        count = self.random.randrange(bits)
        amount = tirx.IntImm(a.dtype, count)
        if self.random.random() < 0.5:
            return Typed(a.expr >> amount, a.low >> count, a.high >> count)
        return Typed(a.expr << amount, *LIMITS[a.dtype])

    def cast(self, dtype, depth):
        least, greatest = LIMITS[dtype]
        source = self.random.choice(self.dtypes)
        value = self.expression(source, depth)
        if source == "float32":
            low, high = max(least, -1000), min(greatest, 1000)
            lower, upper = (tirx.FloatImm(source, bound) for bound in (low, high))
            clipped = tirx.Max(tirx.Min(value.expr, upper), lower)
            return Typed(tirx.Cast(dtype, clipped), low, high)
        fits = least <= value.low and value.high <= greatest
        low, high = (value.low, value.high) if fits else (least, greatest)
        return Typed(tirx.Cast(dtype, value.expr), low, high)


def in_range(expr, low, high):
    """`expr`, unless it could overflow a type whose overflow is not defined."""
    dtype = str(expr.ty.dtype)
    least, greatest = LIMITS[dtype]
    if least <= low and high <= greatest:
        return Typed(expr, low, high)
    return Typed(expr, least, greatest) if dtype in NARROW else None


def truncated_quotient(a, b):
    return (a - np.fmod(a, b)) // b


INTEGER_OPERATIONS = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    tirx.Div: truncated_quotient,
    tirx.Mod: np.fmod,
    tirx.FloorDiv: np.floor_divide,
    tirx.FloorMod: np.mod,
    tirx.BitwiseAnd: np.bitwise_and,
    tirx.BitwiseOr: np.bitwise_or,
    tirx.BitwiseXor: np.bitwise_xor,
    tirx.LShift: np.left_shift,
    tirx.RShift: np.right_shift,
}
"""Computed in 64 bits and wrapped at the type of the result."""

OPERATIONS = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    tirx.Div: np.divide,
    tirx.BitwiseAnd: np.bitwise_and,
    tirx.BitwiseXor: np.bitwise_xor,
    tirx.And: np.logical_and,
    tirx.Or: np.logical_or,
    tirx.LT: np.less,
    tirx.LE: np.less_equal,
    tirx.GT: np.greater,
    tirx.GE: np.greater_equal,
    tirx.EQ: np.equal,
    tirx.NE: np.not_equal,
    tirx.Min: lambda a, b: np.where(a < b, a, b),
    tirx.Max: lambda a, b: np.where(a > b, a, b),
}
FUNCTIONS = {
    "floorf": np.floor,
    "ceilf": np.ceil,
    "truncf": np.trunc,
    "nearbyintf": np.rint,
    "sqrtf": np.sqrt,
}


def evaluate(expr, values):
    """The values of `expr` for all inputs."""
    dtype = np.dtype(str(expr.ty.dtype))
    if isinstance(expr, tirx.IntImm | tirx.FloatImm):
        return np.full(COUNT, expr.value, dtype)
    if isinstance(expr, TensorLoad):
        return values[expr.source]
    if isinstance(expr, tirx.Cast):
        return evaluate(expr.value, values).astype(dtype)
    if isinstance(expr, tirx.Not | tirx.BitwiseNot):
        return np.invert(evaluate(expr.a, values))
    if isinstance(expr, tirx.Select):
        parts = (expr.condition, expr.true_value, expr.false_value)
        return np.where(*(evaluate(part, values) for part in parts))
    if isinstance(expr, Call):
        if expr.op.name == "tirx.call_pure_extern":
            return FUNCTIONS[expr.args[0].value](evaluate(expr.args[1], values))
        arguments = [evaluate(argument, values) for argument in expr.args]
        return {"prim.if_then_else": np.where, "tirx.fabs": np.abs}[expr.op.name](*arguments)
    if isinstance(expr, tirx.Let):
        return evaluate(expr.body, {**values, expr.var: evaluate(expr.value, values)})
    if isinstance(expr, Var):
        return values[expr]
    a, b = evaluate(expr.a, values), evaluate(expr.b, values)
    if dtype.kind in "iu" and type(expr) in INTEGER_OPERATIONS:
        return INTEGER_OPERATIONS[type(expr)](a.astype("int64"), b.astype("int64")).astype(dtype)
    return OPERATIONS[type(expr)](a, b)


def random_input(dtype, generator):
    if dtype == "bool":
        return generator.integers(0, 2, COUNT).astype(bool)
    if dtype == "float32":
        special = [0.0, -0.0, 0.5, -2.5, 1e-40, 3e38]
        return np.concatenate([special, generator.normal(0, 50, COUNT - 6)]).astype("float32")
    low, high = INPUT_LIMITS[dtype]
    corners = [low, high, 0, low + 1, high - 1]
    return np.array([*corners, *generator.integers(low, high, COUNT - 5)]).astype(dtype)


def function_of(exprs):
    """A PrimFunc that computes each of `exprs` for all inputs, and its output buffers."""
    outputs = [tirx.decl_buffer((COUNT,), str(e.ty.dtype), f"out_{n}") for n, e in enumerate(exprs)]
    stores = [tirx.BufferStore(o, e, [INDEX]) for o, e in zip(outputs, exprs, strict=True)]
    loop = tirx.For(INDEX, 0, COUNT, tirx.ForKind.SERIAL, tirx.SeqStmt(stores))
    func = tirx.PrimFunc([*BUFFERS.values(), *outputs], loop)
    return func.with_attr("global_symbol", "f"), outputs


def stores_of(func):
    """The stores of the loop after LowerIntrin, which is what the C says.

    TVM lowers a floor division as if narrow arithmetic did not wrap, so there they may differ. The
    few functions that it cannot lower at all, because its simplifier divides by a constant zero or
    subtracts one from an unsigned zero, are no examples.
    """
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(IRModule({"f": func}))
    try:
        lowered = tirx.transform.LowerIntrin()(mod)
    except tvm.error.InternalError as error:
        assume("Divide by zero" not in str(error) and "negative uint" not in str(error))
        raise
    return lowered["f"].body.body.seq


def same_bits(a, b):
    """Equal in every bit; any two NaNs are equal."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return bool(np.all((a.view("uint32") == b.view("uint32")) | (np.isnan(a) & np.isnan(b))))


@dataclass(frozen=True)
class Computation:
    """Expressions, and what they give for some inputs.

    Parameters
    ----------
    exprs
        of `BUFFERS` at `INDEX`.
    func
        computes them: it takes all of `BUFFERS`, and an output for each expression.
    inputs
        of these buffers.
    expected
        the outputs.
    """

    exprs: list[tirx.Expr]
    func: tirx.PrimFunc
    inputs: list[np.ndarray]
    expected: list[np.ndarray]

    def check(self, actual):
        """Fail if the outputs differ in a bit."""
        for expr, want, got in zip(self.exprs, self.expected, actual, strict=True):
            assert same_bits(want, got), f"{expr}\n{want}\n{got}"


def computation_of(exprs, seed):
    """The expressions, on random inputs."""
    func, _ = function_of(exprs)
    numbers = np.random.default_rng(seed)
    inputs = [random_input(dtype, numbers) for dtype in BUFFERS]
    values = dict(zip(BUFFERS.values(), inputs, strict=True))
    with np.errstate(all="ignore"):
        expected = [evaluate(store.value, values) for store in stores_of(func)]
    return Computation(exprs, func, inputs, expected)


def random_expressions(seed, dtypes):
    """One expression of each of `dtypes`, which have these types and no other ones inside."""
    draw = Generator(seed, list(dict.fromkeys(dtypes)))
    return [draw.expression(dtype, 1 + n % 4).expr for n, dtype in enumerate(dtypes)]


def check_random_expressions(seed, load):
    """Compile random expressions and compare what they compute with numpy, bit for bit.

    `load` gives the library of a PrimFunc, which is called f there.
    """
    drawn = computation_of(random_expressions(seed, DTYPES * 4), seed)
    actual = [np.zeros_like(expected) for expected in drawn.expected]
    library = load(drawn.func)
    library.f(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*drawn.inputs, *actual)))
    drawn.check(actual)


def few_seeds(test):
    """The test, with a few random seeds; what fails is not shrunk."""
    return settings(
        max_examples=6,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )(given(seed=st.integers(0, 2**32 - 1))(test))
