"""TIR expressions as C99 text.

TVM's own C printer writes float constants with seven significant digits, infinity as `inff`, and
accesses memory through plain pointers, so it cannot be used here (RFC 0002).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from tvm import tirx
from tvm.ir import Call, GlobalVar, Op, PointerType, TensorLoad, Var
from tvm.tirx import FloatImm, IntImm

from usmp.analysis.integers.integer_ranges import type_range
from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c.calls import extern_function, may_have_effects
from usmp.codegen.c.comparisons import comparison_with_limit, is_contradiction
from usmp.codegen.c.helpers import Helpers, is_helper
from usmp.codegen.c.literals import float_literal, integer_literal
from usmp.codegen.c.operand import (
    Level,
    Operand,
    arithmetic,
    conditional,
    constant,
    converted,
    infix,
)
from usmp.codegen.c.small_floats import bits_of
from usmp.codegen.c.source_files import C_CONVERSIONS, is_of_mve, tensor_intrinsics
from usmp.codegen.c.types import UnsupportedInC, c_type, is_narrow_integer, is_small_float
from usmp.codegen.c.value_types import passed_type, pointer_type, value_type
from usmp.tir.dtypes import is_float
from usmp.tir.intrinsics import SATURATE_INT8, conversion_function, is_low_bits_function
from usmp.tir.math_functions import MATH_FUNCTIONS
from usmp.tir.nodes import is_const_int

_BINARY: dict[type, tuple[str, Level]] = {
    tirx.Mul: ("*", Level.MULTIPLY),
    tirx.Div: ("/", Level.MULTIPLY),
    tirx.Mod: ("%", Level.MULTIPLY),
    tirx.Add: ("+", Level.ADD),
    tirx.Sub: ("-", Level.ADD),
    tirx.LT: ("<", Level.COMPARE),
    tirx.LE: ("<=", Level.COMPARE),
    tirx.GT: (">", Level.COMPARE),
    tirx.GE: (">=", Level.COMPARE),
    tirx.EQ: ("==", Level.EQUAL),
    tirx.NE: ("!=", Level.EQUAL),
    tirx.BitwiseAnd: ("&", Level.BIT_AND),
    tirx.BitwiseXor: ("^", Level.BIT_XOR),
    tirx.BitwiseOr: ("|", Level.BIT_OR),
    tirx.RShift: (">>", Level.SHIFT),
    tirx.And: ("&&", Level.AND),
    tirx.Or: ("||", Level.OR),
}
_ARITHMETIC = (tirx.Mul, tirx.Div, tirx.Mod, tirx.Add, tirx.Sub)
_NOT_LOWERED = {
    "tirx.exp2": "exp2",
    "tirx.fabs": "fabs",
    "tirx.fmod": "fmod",
}
"""The C functions of operators that LowerIntrin does not lower."""


class ExpressionPrinter:
    """A printer of the expressions in one function.

    Parameters
    ----------
    names
        C identifier of each variable and buffer in scope; the caller adds one for each declaration.
    scalars
        buffers of one element that are plain C variables.
    functions
        C name of each PrimFunc that may be called, by the name of its GlobalVar.
    helpers
        collects the helper functions that the text needs.
    calls
        resolves calls by name to PrimFuncs of the module.
    """

    def __init__(
        self,
        names: Mapping[Var, str],
        scalars: set[Var],
        functions: Mapping[str, str],
        helpers: Helpers,
        calls: CallResolver | None = None,
    ) -> None:
        self.calls = calls or CallResolver({})
        self.names = names
        self.scalars = scalars
        self.functions = functions
        self.helpers = helpers
        self.substitutions: dict[Var, Operand] = {}

    def print(self, expr: tirx.Expr) -> str:
        """Return `expr` as C text that is valid alone, between commas or in brackets."""
        return self._visit(expr).text

    def compared(self, expr: tirx.Expr) -> str:
        """Return `expr` as C text that can be an operand of `<`."""
        return self._visit(expr).inside(Level.SHIFT)

    def element(self, buffer: Var, indices: list[tirx.Expr]) -> str:
        """Return the lvalue of a buffer element."""
        index = _only_index(buffer, indices)
        if buffer in self.scalars:
            return self._name(buffer)
        return f"{self._name(buffer)}[{self.print(index)}]"

    def _name(self, var: Var) -> str:
        if var not in self.names:
            raise UnsupportedInC(f"variable {var.name} is used outside of its declaration")
        return self.names[var]

    def _visit(self, expr: tirx.Expr) -> Operand:
        if type(expr) in _BINARY:
            return self._binary(expr)
        visit = self._EXPRESSIONS.get(type(expr))
        if visit is None:
            raise UnsupportedInC(f"expression {expr} ({type(expr).__name__}) has no C99 form")
        return visit(self, expr)

    def _binary(self, expr: tirx.Expr) -> Operand:
        operator, level = _BINARY[type(expr)]
        dtype = str(expr.ty.dtype)
        _check_is_computable(str(expr.a.ty.dtype), expr)
        if isinstance(expr, _ARITHMETIC):
            return self._arithmetic(operator, level, expr, dtype)
        known = comparison_with_limit(expr, self.calls)
        if known is not None:
            return Operand(known)
        if isinstance(expr, tirx.And) and is_contradiction(expr, self.calls):
            return Operand("0")
        left, right = self._visit(expr.a), self._visit(expr.b)
        if isinstance(expr, tirx.RShift):
            return arithmetic(operator, level, left, right, dtype)
        return infix(operator, level, left, right)

    def _arithmetic(self, operator: str, level: Level, expr: tirx.Expr, dtype: str) -> Operand:
        if dtype == "bool":
            raise UnsupportedInC(f"arithmetic on booleans: {expr}")
        if isinstance(expr, tirx.Mod) and is_float(dtype):
            return self._library("fmod", dtype, expr.a, expr.b)
        left, right = self._visit(expr.a), self._visit(expr.b)
        text = arithmetic(operator, level, left, right, dtype)
        # Wrap the result as TIR does, because C promotes narrow operands to int.
        return self._wrapped(text, dtype) if is_narrow_integer(dtype) else text

    def _wrapped(self, operand: Operand, dtype: str) -> Operand:
        """Return a cast of the operand to a TIR type, with the operand in parentheses."""
        return Operand(f"({c_type(dtype)})({operand.text})", Level.UNARY)

    def _library(self, stem: str, dtype: str, *arguments: tirx.Expr) -> Operand:
        """Return a call of a function of <math.h>."""
        if not is_float(dtype):
            raise UnsupportedInC(f"{stem} of {dtype}")
        function = f"{stem}f" if dtype == "float32" else stem
        return Operand(f"{function}({', '.join(self.print(a) for a in arguments)})")

    def _extreme(self, expr: tirx.Min | tirx.Max) -> Operand:
        _check_is_computable(str(expr.ty.dtype), expr)
        saturated = _saturated_int8(expr)
        if saturated is not None:
            self.helpers.intrinsic(SATURATE_INT8)
            return Operand(f"{SATURATE_INT8}({self.print(saturated)})")
        name, operator = ("min", "<") if isinstance(expr, tirx.Min) else ("max", ">")
        function = self.helpers.extreme(name, str(expr.ty.dtype), operator)
        return Operand(f"{function}({self.print(expr.a)}, {self.print(expr.b)})")

    def _not(self, expr: tirx.Not) -> Operand:
        # Print `(!a) == b`, because compilers warn of `!a == b`.
        return Operand(f"!{self._visit(expr.a).inside(Level.UNARY)}", Level.EQUAL)

    def _conditional(self, condition: tirx.Expr, yes: tirx.Expr, no: tirx.Expr) -> Operand:
        return conditional(*(self._visit(part) for part in (condition, yes, no)))

    def _select(self, expr: tirx.Select) -> Operand:
        return self._conditional(expr.condition, expr.true_value, expr.false_value)

    def _cast(self, expr: tirx.Cast) -> Operand:
        value = self._visit(expr.value)
        target = str(expr.ty.dtype)
        source = str(expr.value.ty.dtype)
        if is_small_float(target) or is_small_float(source):
            return self._convert(expr, target, source)
        if target == "bool":
            return Operand(f"{value.inside(Level.ADD)} != 0", Level.EQUAL)
        return converted(value, c_type(target))

    def _convert(self, expr: tirx.Cast, target: str, source: str) -> Operand:
        """Return the conversion from or to an element type that C lacks."""
        # Convert to float, which C then widens to double without loss.
        through = "float32" if target == "float64" else target
        if conversion_function(through, source) not in C_CONVERSIONS:
            raise UnsupportedInC(
                f"{source} to {target} is not supported: {expr}; only float16 and bfloat16 are "
                "computed with, by way of float32; change the type in the model"
            )
        function = self.helpers.conversion(through, source)
        return Operand(f"{function}({self.print(expr.value)})")

    def _int(self, expr: IntImm) -> Operand:
        value, dtype = int(expr.value), str(expr.ty.dtype)
        return constant(integer_literal(value, dtype), value, dtype)

    def _float(self, expr: FloatImm) -> Operand:
        dtype = str(expr.ty.dtype)
        if is_small_float(dtype):
            return Operand(str(bits_of(float(expr.value), dtype)))
        text = float_literal(float(expr.value), dtype)
        return Operand(text, Level.UNARY if text.startswith("-") else Level.ATOM)

    def _variable(self, var: Var) -> Operand:
        return self.substitutions.get(var) or Operand(self._name(var))

    def _let(self, expr: tirx.Let) -> Operand:
        if may_have_effects(expr.value, self.calls):
            raise UnsupportedInC(f"a Let whose value has side effects: {expr}")
        outer = self.substitutions
        self.substitutions = {**outer, expr.var: self._visit(expr.value)}
        text = self._visit(expr.body)
        self.substitutions = outer
        return text

    def _load(self, expr: TensorLoad) -> Operand:
        return Operand(self.element(expr.source, list(expr.indices)))

    def _call(self, expr: Call) -> Operand:
        if isinstance(expr.op, GlobalVar):
            return self._call_of(str(expr.op.name_hint), expr.args)
        callee = self.calls.resolve(expr)
        if callee is not None:
            return self._call_of(callee.callee, self.calls.passed(callee))
        operator = expr.op.name if isinstance(expr.op, Op) else str(expr.op)
        if operator in _NOT_LOWERED:
            return self._library(_NOT_LOWERED[operator], str(expr.ty.dtype), *expr.args)
        visit = self._CALLS.get(operator)
        if visit is None:
            raise UnsupportedInC(f"operator {operator} has no C99 form: {expr}")
        return visit(self, expr)

    def _call_of(self, function: str, arguments: Sequence[tirx.Expr]) -> Operand:
        """Return a call of a PrimFunc."""
        name = self.functions.get(function)
        if name is None:
            raise UnsupportedInC(f"call of {function}, which the module lacks")
        return Operand(f"{name}({', '.join(self.print(a) for a in arguments)})")

    def _if_then_else(self, expr: Call) -> Operand:
        return self._conditional(*expr.args)

    def _left_shift(self, expr: tirx.LShift) -> Operand:
        dtype = str(expr.ty.dtype)
        value, count = self._visit(expr.a), self._visit(expr.b)
        if dtype in ("uint32", "uint64"):
            return arithmetic("<<", Level.SHIFT, value, count, dtype)
        # Shift unsigned, because C leaves `<<` undefined for negative values and on overflow.
        unsigned = "uint64_t" if dtype == "int64" else "uint32_t"
        value = converted(value, unsigned)
        return self._wrapped(arithmetic("<<", Level.SHIFT, value, count, dtype), dtype)

    def _bitwise_not(self, expr: tirx.BitwiseNot) -> Operand:
        dtype = str(expr.ty.dtype)
        if dtype == "bool":
            return self._not(tirx.Not(expr.a))
        if dtype in ("uint8", "uint16"):
            # Subtract, because `~` would complement an int, and gcc warns of it even with a cast.
            ones = Operand(str(type_range(dtype)[1]))
            return self._wrapped(infix("-", Level.ADD, ones, self._visit(expr.a)), dtype)
        value = self._visit(expr.a)
        if value.most is not None:
            value = converted(value, c_type(dtype))
        return converted(Operand(f"~{value.inside(Level.UNARY)}"), c_type(dtype))

    def _isnan(self, expr: Call) -> Operand:
        return Operand(f"isnan({self.print(expr.args[0])}) != 0", Level.EQUAL)

    def _address_of(self, expr: Call) -> Operand:
        return self._address(expr.args[0])

    def _address(self, load: TensorLoad) -> Operand:
        if load.source in self.scalars:
            return Operand(f"&{self._name(load.source)}", Level.UNARY)
        name, index = self._name(load.source), _only_index(load.source, list(load.indices))
        if is_const_int(index, 0):
            return Operand(name)
        return Operand(f"{name} + {self._visit(index).inside(Level.MULTIPLY)}", Level.ADD)

    def _buffer_data(self, expr: Call) -> Operand:
        return Operand(self._name(expr.args[0]))

    def _access_pointer(self, expr: Call) -> Operand:
        _, data, offset, _, _ = expr.args
        address = self._visit(data)
        if not isinstance(offset, IntImm) or int(offset):
            address = infix("+", Level.ADD, address, self._visit(offset))
        return converted(address, passed_type(expr))

    def _is_null(self, expr: Call) -> Operand:
        return Operand(f"{self._visit(expr.args[0]).inside(Level.ADD)} == 0", Level.EQUAL)

    def _reinterpret(self, expr: Call) -> Operand:
        value = expr.args[0]
        if isinstance(expr.ty, PointerType):
            return converted(self._visit(value), pointer_type(expr.ty))
        if isinstance(value.ty, PointerType):
            raise UnsupportedInC(f"a pointer as an integer: {expr}")
        function = self.helpers.reinterpret(str(value.ty.dtype), str(expr.ty.dtype))
        return Operand(f"{function}({self.print(value)})")

    def _extern(self, expr: Call) -> Operand:
        function = extern_function(expr)
        if is_low_bits_function(function):
            return self._cast(tirx.Cast(str(expr.ty.dtype), expr.args[1]))
        if is_helper(function):
            self.helpers.intrinsic(function)
        elif function not in MATH_FUNCTIONS:
            types = ", ".join(passed_type(a) for a in expr.args[1:]) or "void"
            self.helpers.extern(function, f"extern {value_type(expr)} {function}({types});")
        return Operand(f"{function}({', '.join(self.print(a) for a in expr.args[1:])})")

    def tensor_intrinsic(self, call: Call) -> str:
        """Return the C call of a tensor intrinsic; arguments that are loads become addresses."""
        function = extern_function(call)
        if function not in tensor_intrinsics(is_of_mve(function)):
            raise UnsupportedInC(f"there is no tensor intrinsic {function}")
        self.helpers.intrinsic(function)
        passed = (
            self._address(a) if isinstance(a, TensorLoad) else self._visit(a) for a in call.args[1:]
        )
        return f"{function}({', '.join(text.text for text in passed)})"

    def _likely(self, expr: Call) -> Operand:
        return self._visit(expr.args[0])

    _EXPRESSIONS: ClassVar[dict[type, Callable[[ExpressionPrinter, tirx.Expr], Operand]]] = {
        tirx.Min: _extreme,
        tirx.Max: _extreme,
        tirx.Not: _not,
        tirx.BitwiseNot: _bitwise_not,
        tirx.LShift: _left_shift,
        tirx.Select: _select,
        tirx.Cast: _cast,
        tirx.Let: _let,
        IntImm: _int,
        FloatImm: _float,
        Var: _variable,
        TensorLoad: _load,
        Call: _call,
    }
    _CALLS: ClassVar[dict[str, Callable[[ExpressionPrinter, Call], Operand]]] = {
        "prim.if_then_else": _if_then_else,
        "tirx.isnan": _isnan,
        "tirx.isnullptr": _is_null,
        "tirx.address_of": _address_of,
        "tirx.buffer_data": _buffer_data,
        "tirx.reinterpret": _reinterpret,
        "tirx.tvm_access_ptr": _access_pointer,
        "tirx.call_extern": _extern,
        "tirx.call_pure_extern": _extern,
        "prim.likely": _likely,
    }


def _check_is_computable(dtype: str, expr: tirx.Expr) -> None:
    if is_small_float(dtype):
        raise UnsupportedInC(
            f"arithmetic of {dtype} has no C99 form: {expr}; convert to float32, and back"
        )


def _saturated_int8(expr: tirx.Min | tirx.Max) -> tirx.Expr | None:
    """Return the operand of a saturation to int8, or None for other expressions.

    Processors have an instruction for the saturation.
    """
    inner = expr.a
    is_limited = (
        isinstance(inner, tirx.Min | tirx.Max)
        and type(inner) is not type(expr)
        and str(expr.ty.dtype) == "int32"
        and all(isinstance(e.b, IntImm) for e in (expr, inner))
        and {int(expr.b), int(inner.b)} == {-128, 127}
        and int((expr if isinstance(expr, tirx.Min) else inner).b) == 127
    )
    return inner.a if is_limited else None


def _only_index(buffer: Var, indices: list[tirx.Expr]) -> tirx.Expr:
    if len(indices) != 1:
        raise UnsupportedInC(
            f"buffer {buffer.name} has {len(indices)} dimensions; flatten it before codegen"
        )
    return indices[0]
