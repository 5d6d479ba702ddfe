"""TIR expressions as C99 text.

TVM's own C printer writes float constants with seven significant digits, infinity as `inff`, and
accesses memory through plain pointers, so it cannot be used here (rfcs/0002).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tvm import tirx
from tvm.ir import Call, GlobalVar, Op, PointerType, TensorLoad, Var
from tvm.tirx import FloatImm, IntImm

from usmp.analysis.integer_ranges import type_range
from usmp.analysis.memory.calls import CallResolver
from usmp.codegen.c_comparisons import comparison_with_limit, is_contradiction
from usmp.codegen.c_files import C_CONVERSIONS, C_TENSOR_INTRINSICS
from usmp.codegen.c_helpers import Helpers, is_helper
from usmp.codegen.c_literals import float_literal, integer_literal
from usmp.codegen.c_small_floats import bits_of, conversion_name
from usmp.codegen.c_types import (
    UnsupportedInC,
    c_type,
    is_floating,
    is_narrow_integer,
    is_small_float,
)
from usmp.codegen.calls import extern_function, may_have_effects
from usmp.codegen.value_types import passed_type, pointer_type, value_type
from usmp.tir.intrinsics import SATURATE_INT8, is_low_bits_function
from usmp.tir.math_functions import MATH_FUNCTIONS

_ATOM, _UNARY, _MULTIPLY, _ADD, _SHIFT, _COMPARE, _EQUAL, _BIT_AND, _BIT_XOR, _BIT_OR = range(10)
_AND, _OR, _CONDITIONAL = range(10, 13)

_BINARY: dict[type, tuple[str, int]] = {
    tirx.Mul: ("*", _MULTIPLY),
    tirx.Div: ("/", _MULTIPLY),
    tirx.Mod: ("%", _MULTIPLY),
    tirx.Add: ("+", _ADD),
    tirx.Sub: ("-", _ADD),
    tirx.LT: ("<", _COMPARE),
    tirx.LE: ("<=", _COMPARE),
    tirx.GT: (">", _COMPARE),
    tirx.GE: (">=", _COMPARE),
    tirx.EQ: ("==", _EQUAL),
    tirx.NE: ("!=", _EQUAL),
    tirx.BitwiseAnd: ("&", _BIT_AND),
    tirx.BitwiseXor: ("^", _BIT_XOR),
    tirx.BitwiseOr: ("|", _BIT_OR),
    tirx.RShift: (">>", _SHIFT),
    tirx.And: ("&&", _AND),
    tirx.Or: ("||", _OR),
}
_OPERAND_LIMIT = {
    _MULTIPLY: _UNARY,
    _ADD: _MULTIPLY,
    _SHIFT: _UNARY,
    _COMPARE: _ADD,
    _EQUAL: _ADD,
    _BIT_AND: _UNARY,
    _BIT_XOR: _UNARY,
    _BIT_OR: _UNARY,
    _AND: _EQUAL,
    _OR: _EQUAL,
}
"""How loosely an operand may bind without parentheses; stricter than C where gcc warns."""
_CHAINS = (_MULTIPLY, _ADD, _BIT_AND, _BIT_XOR, _BIT_OR, _AND, _OR)
"""Operators that group to the left: a - b + c needs no parentheses."""
_ARITHMETIC = (tirx.Mul, tirx.Div, tirx.Mod, tirx.Add, tirx.Sub)
_NOT_LOWERED = {
    "tirx.exp2": "exp2",
    "tirx.fabs": "fabs",
    "tirx.fmod": "fmod",
}
"""Operators that LowerIntrin leaves, and their functions in C."""


@dataclass(frozen=True)
class _Text:
    """C text, and how tightly its outermost operator binds."""

    text: str
    level: int = _ATOM

    def inside(self, limit: int) -> str:
        """The text, in parentheses if it binds more loosely than `limit`."""
        return self.text if self.level <= limit else f"({self.text})"


class ExpressionPrinter:
    """Prints the expressions of one function.

    Parameters
    ----------
    names
        C identifier of each variable and buffer in scope, filled by the caller as it goes.
    scalars
        buffers of one element that are plain C variables.
    functions
        C name of each PrimFunc that may be called, by the name of its GlobalVar.
    helpers
        collects the helper functions that the text needs.
    calls
        the PrimFuncs that may be called by the names that they have in C.
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
        self.substitutions: dict[Var, _Text] = {}

    def print(self, expr: tirx.Expr) -> str:
        """`expr` as C text that can stand alone, between commas or in brackets."""
        return self._visit(expr).text

    def compared(self, expr: tirx.Expr) -> str:
        """`expr` as C text that can stand beside `<`."""
        return self._visit(expr).inside(_SHIFT)

    def element(self, buffer: Var, indices: list[tirx.Expr]) -> str:
        """The lvalue of a buffer element."""
        index = _only_index(buffer, indices)
        if buffer in self.scalars:
            return self._name(buffer)
        return f"{self._name(buffer)}[{self.print(index)}]"

    def _name(self, var: Var) -> str:
        if var not in self.names:
            raise UnsupportedInC(f"variable {var.name} is used outside of its declaration")
        return self.names[var]

    def _visit(self, expr: tirx.Expr) -> _Text:
        if type(expr) in _BINARY:
            return self._binary(expr)
        visit = self._EXPRESSIONS.get(type(expr))
        if visit is None:
            raise UnsupportedInC(f"expression {expr} ({type(expr).__name__}) has no C99 form")
        return visit(self, expr)

    def _binary(self, expr: tirx.Expr) -> _Text:
        operator, level = _BINARY[type(expr)]
        dtype = str(expr.ty.dtype)
        _check_is_computable(str(expr.a.ty.dtype), expr)
        if isinstance(expr, _ARITHMETIC):
            return self._arithmetic(operator, level, expr, dtype)
        known = comparison_with_limit(expr, self.calls)
        if known is not None:
            return _Text(known)
        if isinstance(expr, tirx.And) and is_contradiction(expr, self.calls):
            return _Text("0")
        return self._infix(operator, level, self._visit(expr.a), self._visit(expr.b))

    def _arithmetic(self, operator: str, level: int, expr: tirx.Expr, dtype: str) -> _Text:
        if dtype == "bool":
            raise UnsupportedInC(f"arithmetic on booleans: {expr}")
        if isinstance(expr, tirx.Mod) and is_floating(dtype):
            return self._library("fmod", dtype, expr.a, expr.b)
        left, right = self._visit(expr.a), self._visit(expr.b)
        if isinstance(expr, tirx.Mul) and dtype == "uint16":
            # C would promote to int, which the product of two uint16_t may overflow.
            left = _Text(f"(uint32_t){left.inside(_UNARY)}", _UNARY)
        text = self._infix(operator, level, left, right)
        if is_narrow_integer(dtype):
            # C promotes to int; TIR wraps at the narrow type.
            return _Text(f"({c_type(dtype)})({text.text})", _UNARY)
        return text

    def _infix(self, operator: str, level: int, left: _Text, right: _Text) -> _Text:
        limit = _OPERAND_LIMIT[level]
        chained = left.level == level and level in _CHAINS
        left_text = left.text if chained else left.inside(limit)
        return _Text(f"{left_text} {operator} {right.inside(limit)}", level)

    def _library(self, stem: str, dtype: str, *arguments: tirx.Expr) -> _Text:
        """A call of a function of <math.h>."""
        if not is_floating(dtype):
            raise UnsupportedInC(f"{stem} of {dtype}")
        function = f"{stem}f" if dtype == "float32" else stem
        return _Text(f"{function}({', '.join(self.print(a) for a in arguments)})")

    def _extreme(self, expr: tirx.Min | tirx.Max) -> _Text:
        _check_is_computable(str(expr.ty.dtype), expr)
        saturated = _saturated_int8(expr)
        if saturated is not None:
            self.helpers.intrinsic(SATURATE_INT8)
            return _Text(f"{SATURATE_INT8}({self.print(saturated)})")
        name, operator = ("min", "<") if isinstance(expr, tirx.Min) else ("max", ">")
        function = self.helpers.extreme(name, str(expr.ty.dtype), operator)
        return _Text(f"{function}({self.print(expr.a)}, {self.print(expr.b)})")

    def _not(self, expr: tirx.Not) -> _Text:
        # Compilers warn of `!a == b`: it gets parentheses as a comparison would.
        return _Text(f"!{self._visit(expr.a).inside(_UNARY)}", _EQUAL)

    def _conditional(self, condition: tirx.Expr, yes: tirx.Expr, no: tirx.Expr) -> _Text:
        parts = [self._visit(part).inside(_OR) for part in (condition, yes, no)]
        return _Text("{} ? {} : {}".format(*parts), _CONDITIONAL)

    def _select(self, expr: tirx.Select) -> _Text:
        return self._conditional(expr.condition, expr.true_value, expr.false_value)

    def _cast(self, expr: tirx.Cast) -> _Text:
        value = self._visit(expr.value)
        target = str(expr.ty.dtype)
        source = str(expr.value.ty.dtype)
        if is_small_float(target) or is_small_float(source):
            return self._convert(expr, target, source)
        if target == "bool":
            return _Text(f"{value.inside(_ADD)} != 0", _EQUAL)
        return _Text(f"({c_type(target)}){value.inside(_UNARY)}", _UNARY)

    def _convert(self, expr: tirx.Cast, target: str, source: str) -> _Text:
        """A conversion from or to a type that C lacks."""
        # A double has all that a float has.
        through = "float32" if target == "float64" else target
        if conversion_name(through, source) not in C_CONVERSIONS:
            raise UnsupportedInC(
                f"{source} to {target} is not supported: {expr}; only float16 and bfloat16 are "
                "computed with, by way of float32; change the type in the model"
            )
        function = self.helpers.conversion(through, source)
        return _Text(f"{function}({self.print(expr.value)})")

    def _int(self, expr: IntImm) -> _Text:
        text = integer_literal(int(expr.value), str(expr.ty.dtype))
        return _Text(text, _UNARY if text.startswith("-") else _ATOM)

    def _float(self, expr: FloatImm) -> _Text:
        dtype = str(expr.ty.dtype)
        if is_small_float(dtype):
            return _Text(str(bits_of(float(expr.value), dtype)))
        text = float_literal(float(expr.value), dtype)
        return _Text(text, _UNARY if text.startswith("-") else _ATOM)

    def _variable(self, var: Var) -> _Text:
        return self.substitutions.get(var) or _Text(self._name(var))

    def _let(self, expr: tirx.Let) -> _Text:
        if may_have_effects(expr.value, self.calls):
            raise UnsupportedInC(f"a Let whose value has side effects: {expr}")
        outer = self.substitutions
        self.substitutions = {**outer, expr.var: self._visit(expr.value)}
        text = self._visit(expr.body)
        self.substitutions = outer
        return text

    def _load(self, expr: TensorLoad) -> _Text:
        return _Text(self.element(expr.source, list(expr.indices)))

    def _call(self, expr: Call) -> _Text:
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

    def _call_of(self, function: str, arguments: Sequence[tirx.Expr]) -> _Text:
        """A call of a PrimFunc."""
        name = self.functions.get(function)
        if name is None:
            raise UnsupportedInC(f"call of {function}, which the module lacks")
        return _Text(f"{name}({', '.join(self.print(a) for a in arguments)})")

    def _if_then_else(self, expr: Call) -> _Text:
        return self._conditional(*expr.args)

    def _left_shift(self, expr: tirx.LShift) -> _Text:
        dtype = str(expr.ty.dtype)
        value, count = self._visit(expr.a), self._visit(expr.b)
        if dtype in ("uint32", "uint64"):
            return self._infix("<<", _SHIFT, value, count)
        # Undefined in C for negative numbers, and for those that leave the type.
        unsigned = "uint64_t" if dtype == "int64" else "uint32_t"
        value = _Text(f"({unsigned}){value.inside(_UNARY)}", _UNARY)
        text = self._infix("<<", _SHIFT, value, count)
        return _Text(f"({c_type(dtype)})({text.text})", _UNARY)

    def _bitwise_not(self, expr: tirx.BitwiseNot) -> _Text:
        dtype = str(expr.ty.dtype)
        if dtype == "bool":
            return self._not(tirx.Not(expr.a))
        if dtype in ("uint8", "uint16"):
            # C would promote to int before it complements; gcc warns of `~`, even with a cast.
            ones = _Text(str(type_range(dtype)[1]))
            text = self._infix("-", _ADD, ones, self._visit(expr.a)).text
            return _Text(f"({c_type(dtype)})({text})", _UNARY)
        return _Text(f"({c_type(dtype)})~{self._visit(expr.a).inside(_UNARY)}", _UNARY)

    def _isnan(self, expr: Call) -> _Text:
        return _Text(f"isnan({self.print(expr.args[0])}) != 0", _EQUAL)

    def _address_of(self, expr: Call) -> _Text:
        return self._address(expr.args[0])

    def _address(self, load: TensorLoad) -> _Text:
        if load.source in self.scalars:
            return _Text(f"&{self._name(load.source)}", _UNARY)
        name, index = self._name(load.source), _only_index(load.source, list(load.indices))
        if isinstance(index, IntImm) and int(index) == 0:
            return _Text(name)
        return _Text(f"{name} + {self._visit(index).inside(_MULTIPLY)}", _ADD)

    def _buffer_data(self, expr: Call) -> _Text:
        return _Text(self._name(expr.args[0]))

    def _access_pointer(self, expr: Call) -> _Text:
        _, data, offset, _, _ = expr.args
        address = self._visit(data)
        if not isinstance(offset, IntImm) or int(offset):
            address = self._infix("+", _ADD, address, self._visit(offset))
        return _Text(f"({passed_type(expr)}){address.inside(_UNARY)}", _UNARY)

    def _is_null(self, expr: Call) -> _Text:
        return _Text(f"{self._visit(expr.args[0]).inside(_ADD)} == 0", _EQUAL)

    def _reinterpret(self, expr: Call) -> _Text:
        value = expr.args[0]
        if isinstance(expr.ty, PointerType):
            return _Text(f"({pointer_type(expr.ty)}){self._visit(value).inside(_UNARY)}", _UNARY)
        if isinstance(value.ty, PointerType):
            raise UnsupportedInC(f"a pointer as an integer: {expr}")
        function = self.helpers.reinterpret(str(value.ty.dtype), str(expr.ty.dtype))
        return _Text(f"{function}({self.print(value)})")

    def _extern(self, expr: Call) -> _Text:
        function = extern_function(expr)
        if is_low_bits_function(function):
            return self._cast(tirx.Cast(str(expr.ty.dtype), expr.args[1]))
        if is_helper(function):
            self.helpers.intrinsic(function)
        elif function not in MATH_FUNCTIONS:
            types = ", ".join(passed_type(a) for a in expr.args[1:]) or "void"
            self.helpers.extern(function, f"extern {value_type(expr)} {function}({types});")
        return _Text(f"{function}({', '.join(self.print(a) for a in expr.args[1:])})")

    def tensor_intrinsic(self, call: Call) -> str:
        """The call of a tensor intrinsic, whose loads stand for addresses."""
        function = extern_function(call)
        if function not in C_TENSOR_INTRINSICS:
            raise UnsupportedInC(f"there is no tensor intrinsic {function}")
        self.helpers.intrinsic(function)
        passed = (
            self._address(a) if isinstance(a, TensorLoad) else self._visit(a) for a in call.args[1:]
        )
        return f"{function}({', '.join(text.text for text in passed)})"

    def _likely(self, expr: Call) -> _Text:
        return self._visit(expr.args[0])

    _EXPRESSIONS: ClassVar[dict[type, Callable[[ExpressionPrinter, tirx.Expr], _Text]]] = {
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
    _CALLS: ClassVar[dict[str, Callable[[ExpressionPrinter, Call], _Text]]] = {
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
    """What both limits of 8 bits are applied to, for which processors have an instruction."""
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
