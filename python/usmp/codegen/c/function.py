"""A flat TIR PrimFunc as a C99 function."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from tvm import tirx
from tvm.ir import Call, PointerType, Var
from tvm.tirx import IntImm

from usmp.analysis.memory.facts import FunctionFacts
from usmp.codegen.c.calls import extern_names, may_have_effects, reads_memory
from usmp.codegen.c.expression import ExpressionPrinter
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.names import Scope
from usmp.codegen.c.text import comment_text
from usmp.codegen.c.types import UnsupportedInC, c_type, is_narrow_integer, memory_type
from usmp.codegen.c.value_types import value_type
from usmp.codegen.c.variables import scalar_allocations, used_variables, written_only
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.support.model_operators import titles
from usmp.support.tvm_errors import report_faults
from usmp.tir.model_operator import label_in, operators_in
from usmp.tir.nodes import is_const_int, mentions
from usmp.tir.op_names import is_op
from usmp.tir.own_function import own_function_name
from usmp.tir.tensor_intrin import intrinsic_call
from usmp.tir.unrolled_loops import unrolled_iterations

_LINE_LENGTH = 100
_JUMPS = {"tirx.break_loop": "break", "tirx.continue_loop": "continue"}
_COMPOUND = {tirx.Add: "+=", tirx.Sub: "-=", tirx.Mul: "*="}
"""Compound assignments: `x += y` for `x = x + y`, with the operands in the same order."""


def print_function(
    facts: FunctionFacts,
    functions: Mapping[str, str],
    helpers: Helpers,
    stays_apart: bool = False,
) -> str:
    """Return the definition of a PrimFunc as a static C function.

    Parameters
    ----------
    facts
        the PrimFunc, in flat TIR after LowerIntrin for target "c", with its analyses.
    functions
        C names of all PrimFuncs of the module, by the names of their GlobalVars.
    helpers
        collects the helper functions that the code needs.
    stays_apart
        whether compilers must not inline the function. Inlined, its loops would share registers
        with all other loops of the caller.

    Raises
    ------
    UnsupportedInC
        the function needs something that portable C99 lacks.
    """
    try:
        with report_faults(f"to write operator {facts.name} in C"):
            return _FunctionPrinter(facts, functions, helpers).print(stays_apart)
    except UnsupportedInC as error:
        raise UnsupportedInC(f"{facts.name}: {error}") from error


def parameter_types(func: tirx.PrimFunc, written: set[int]) -> list[str]:
    """Return the C type of each parameter; `written` has the indices of written parameters."""
    return [_parameter_type(param, index in written) for index, param in enumerate(func.params)]


def result_type(func: tirx.PrimFunc) -> str:
    """Return the C type of the function's result."""
    dtype = str(getattr(func.ret_type, "dtype", "void"))
    return "void" if dtype in ("", "void") else c_type(dtype)


def _parameter_type(param: Var, is_written: bool) -> str:
    text = value_type(param)
    return f"const {text}" if text.endswith("*") and not is_written else text


class _FunctionPrinter:
    def __init__(
        self, facts: FunctionFacts, functions: Mapping[str, str], helpers: Helpers
    ) -> None:
        self.facts = facts
        self.func = func = facts.func
        self.c_name = functions[facts.name]
        self.scope = Scope([*functions.values(), *extern_names(func.body)])
        self.names: dict[Var, str] = {}
        self.used = used_variables(func.body, facts.calls)
        self.scalars = scalar_allocations(func.body)
        self.never_read = written_only(func.body)
        self.declared_by_store: set[Var] = set()
        self.expressions = ExpressionPrinter(
            self.names, self.scalars, functions, helpers, facts.calls
        )
        self.types: dict[str, str] = {}
        """C types of the declared parameters and variables, except mutable scalars."""
        self.own_functions: list[str] = []
        """Definitions of outlined functions, which precede the function itself."""
        self.lines: list[str] = []
        self.indent = 1

    def print(self, stays_apart: bool) -> str:
        types = parameter_types(self.func, self.facts.written_parameters)
        declared = []
        for param, type_name in zip(self.func.params, types, strict=True):
            name = self.names[param] = self.scope.unique(param.name)
            self.types[name] = type_name
            declared.append(f"{type_name} {name}")
        self._statement(self.func.body)
        words = set(re.findall(r"\w+", "\n".join(self.lines)))
        # Search the text, because `self.func.body` has uses in tensor intrinsics that are not
        # printed.
        unused = [self.names[param] for param in self.func.params if self.names[param] not in words]
        self.lines[:0] = [f"  (void){name};" for name in unused]
        start = "static TVMGEN_NOINLINE" if stays_apart else "static"
        head = _head(f"{start} {result_type(self.func)}", self.c_name, declared)
        return "\n".join([*self.own_functions, head, *self.lines, "}"])

    def _line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def _block(self, head: str, body: tirx.Stmt) -> None:
        self._line(f"{head} {{")
        self.indent += 1
        self._statement(body)
        self.indent -= 1
        self._line("}")

    def _statement(self, stmt: tirx.Stmt) -> None:
        visit = self._STATEMENTS.get(type(stmt))
        if visit is None:
            raise UnsupportedInC(f"statement {type(stmt).__name__} has no C99 form")
        visit(self, stmt)

    def _sequence(self, stmt: tirx.SeqStmt) -> None:
        for index, child in enumerate(stmt.seq):
            if isinstance(child, tirx.AllocBuffer) and child.buffer in self.scalars:
                following = next(
                    (s for s in stmt.seq[index + 1 :] if mentions(s, child.buffer)), None
                )
                if _sets(following, child.buffer):
                    self.declared_by_store.add(child.buffer)
            self._statement(child)

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        """Print an unplanned allocation as a local variable, in registers or on the stack."""
        buffer = stmt.buffer
        if CONSTANT_DATA_ATTR.is_on(stmt):
            raise UnsupportedInC(f"constant {buffer.name} is in no constant pool")
        if buffer not in self.used:
            return
        _require_flat(buffer)
        name = self.names[buffer] = self.scope.unique(buffer.name)
        if buffer in self.declared_by_store:
            return
        if buffer in self.scalars:
            # Initialize: compilers warn if the first store is in a loop or branch that may not run.
            self._line(f"{c_type(str(buffer.dtype))} {name} = 0;")
            self._silence(buffer)
            return
        extents = [extent for extent in buffer.shape if isinstance(extent, IntImm)]
        if len(extents) != 1:
            raise UnsupportedInC(f"buffer {buffer.name} is not of constant size")
        # No alias type is needed, because a local array, unlike pool memory, keeps its type.
        element = c_type(str(buffer.dtype))
        self.types[name] = f"{element}*"
        self._line(f"{element} {name}[{max(int(extents[0]), 1)}];")
        self._silence(buffer)

    def _silence(self, buffer: Var) -> None:
        """Print a use of `buffer` if nothing reads it, because compilers would warn otherwise."""
        if buffer in self.never_read:
            self._line(f"(void){self.names[buffer]};")

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        if stmt.buffer not in self.used:
            return
        _require_flat(stmt.buffer)
        source = stmt.data.args[0] if is_op(stmt.data, "tirx.buffer_data") else stmt.data
        is_plain = isinstance(source, Var) and source in self.names
        if is_plain and self._element(source) == stmt.buffer.dtype:
            self.names[stmt.buffer] = self.names[source]
            return
        pointer = self._pointer(stmt.buffer, str(stmt.buffer.dtype), stmt.data)
        name = self.names[stmt.buffer] = self.scope.unique(stmt.buffer.name)
        self.types[name] = pointer[0]
        self._line(f"{pointer[0]} {name} = {pointer[1]};")

    def _pointer(self, view: Var, dtype: str, data: tirx.Expr) -> tuple[str, str]:
        """Return the type and value of a pointer through which `view` is accessed.

        The cast goes through `void*` because compilers warn of an increased alignment. The planner
        has aligned the buffer.
        """
        const = "" if view in self.facts.written else "const "
        element = "void" if dtype in ("", "void") else memory_type(dtype)
        type_name = f"{const}{element}*"
        value = self.expressions.print(data)
        if element == "void":
            return type_name, value
        return type_name, f"({type_name})({const}void*)({value})"

    def _element(self, var: Var) -> str:
        ty = var.ty.element_type if isinstance(var.ty, PointerType) else var.ty
        return str(ty.dtype)

    def _bind(self, stmt: tirx.Bind) -> None:
        if stmt.var not in self.used:
            if may_have_effects(stmt.value, self.facts.calls):
                self._line(f"(void){self.expressions.print(stmt.value)};")
            return
        value = self.expressions.print(stmt.value)
        if isinstance(stmt.var.ty, PointerType):
            type_name, value = self._pointer(stmt.var, self._element(stmt.var), stmt.value)
        else:
            type_name = f"const {c_type(str(stmt.var.ty.dtype))}"
        name = self.names[stmt.var] = self.scope.unique(stmt.var.name)
        self.types[name] = type_name
        self._line(f"{type_name} {name} = {value};")

    def _store(self, stmt: tirx.BufferStore) -> None:
        target = self.expressions.element(stmt.buffer, list(stmt.indices))
        operator, value = "=", stmt.value
        compound = _COMPOUND.get(type(value))
        dtype = str(stmt.buffer.dtype)
        if compound and not is_narrow_integer(dtype) and self.expressions.print(value.a) == target:
            operator, value = compound, value.b
        if stmt.buffer in self.declared_by_store:
            self.declared_by_store.remove(stmt.buffer)
            self._line(f"{c_type(dtype)} {target} = {self.expressions.print(value)};")
            self._silence(stmt.buffer)
            return
        self._line(f"{target} {operator} {self.expressions.print(value)};")

    def _evaluate(self, stmt: tirx.Evaluate) -> None:
        if isinstance(stmt.value, IntImm):
            return
        jump = next((word for name, word in _JUMPS.items() if is_op(stmt.value, name)), None)
        if jump:
            self._line(f"{jump};")
        elif may_have_effects(stmt.value, self.facts.calls):
            self._origin(stmt.value)
            self._line(f"{self.expressions.print(stmt.value)};")
        else:
            self._line(f"(void)({self.expressions.print(stmt.value)});")

    def _origin(self, call: tirx.Expr) -> None:
        """Print a comment with the operators of the model that a call computes."""
        if not isinstance(call, Call):
            return
        operators = [operator.as_json() for operator in operators_in(call.span)]
        if operators:
            title = titles(operators, label=label_in(call.span))
            self._line(f"/* {comment_text(title)} */")

    def _attribute(self, stmt: tirx.AttrStmt) -> None:
        call, function = intrinsic_call(stmt), own_function_name(stmt)
        if call is not None:
            self._line(f"{self.expressions.tensor_intrinsic(call)};")
        elif function is not None:
            self._own_function(function, stmt.body)
        else:
            iterations = unrolled_iterations(stmt)
            if iterations is not None:
                self._line(f"{self.expressions.helpers.written_out()}();")
            for part in iterations or [stmt.body]:
                self._statement(part)

    def _own_function(self, name: str, body: tirx.Stmt) -> None:
        """Print `body` as a function, with the variables that it uses as parameters, and a call.

        If `body` uses an outer scalar that is not constant, print the statements in place.
        """
        known = dict(self.types)
        changing = {self.names[scalar] for scalar in self.scalars if scalar in self.names}
        outer, self.lines = self.lines, []
        indent, self.indent = self.indent, 1
        self._statement(body)
        inner, self.lines, self.indent = self.lines, outer, indent
        words = set(re.findall(r"\w+", "\n".join(inner)))
        if words & changing:
            self.lines += ["  " * (indent - 1) + line for line in inner]
            return
        passed = [variable for variable in known if variable in words]
        function = self.scope.unique(f"{self.c_name}_{name}")
        declared = [f"{known[variable]} {variable}" for variable in passed]
        head = _head("static TVMGEN_NOINLINE void", function, declared)
        self.own_functions.append("\n".join([head, *inner, "}\n"]))
        self._line(f"{function}({', '.join(passed)});")

    def _branch(self, stmt: tirx.IfThenElse) -> None:
        self._block(f"if ({self.expressions.print(stmt.condition)})", stmt.then_case)
        if stmt.else_case is not None:
            self.lines.pop()
            self._block("} else", stmt.else_case)

    def _for(self, stmt: tirx.For) -> None:
        """Print any loop as serial, which is valid for every kind but thread-bound loops."""
        if stmt.kind == tirx.ForKind.THREAD_BINDING:
            raise UnsupportedInC(f"loop {stmt.loop_var.name} is bound to a thread")
        name = self.names[stmt.loop_var] = self.scope.unique(stmt.loop_var.name)
        index = c_type(str(stmt.loop_var.ty.dtype))
        start = self.expressions.print(stmt.min)
        is_zero = is_const_int(stmt.min, 0)
        stop = self._loop_constant(
            f"{name}_stop", stmt.extent if is_zero else stmt.min + stmt.extent
        )
        advance = f"++{name}"
        if stmt.step is not None:
            advance = f"{name} += {self._loop_constant(f'{name}_step', stmt.step)}"
        self.types[name] = index
        self._block(f"for ({index} {name} = {start}; {name} < {stop}; {advance})", stmt.body)

    def _loop_constant(self, name: str, value: tirx.Expr) -> str:
        """Return `value` as text. Store it in a variable if the loop's body may change it, because
        TIR evaluates it once."""
        if not reads_memory(value, self.facts.calls):
            return self.expressions.compared(value)
        text = self.expressions.print(value)
        variable = self.scope.unique(name)
        self._line(f"const {c_type(str(value.ty.dtype))} {variable} = {text};")
        return variable

    def _while(self, stmt: tirx.While) -> None:
        self._block(f"while ({self.expressions.print(stmt.condition)})", stmt.body)

    def _return(self, stmt: tirx.Return) -> None:
        if stmt.value is not None and result_type(self.func) != "void":
            self._line(f"return {self.expressions.print(stmt.value)};")
            return
        if stmt.value is not None and not is_const_int(stmt.value, 0):
            raise UnsupportedInC(f"a PrimFunc that returns a value: {stmt.value}")
        self._line("return;")

    def _break(self, stmt: tirx.Break) -> None:
        self._line("break;")

    def _continue(self, stmt: tirx.Continue) -> None:
        self._line("continue;")

    _STATEMENTS: ClassVar[dict[type, Callable[[_FunctionPrinter, tirx.Stmt], None]]] = {
        tirx.SeqStmt: _sequence,
        tirx.AllocBuffer: _allocate,
        tirx.DeclBuffer: _declare,
        tirx.Bind: _bind,
        tirx.BufferStore: _store,
        tirx.Evaluate: _evaluate,
        tirx.AttrStmt: _attribute,
        tirx.IfThenElse: _branch,
        tirx.For: _for,
        tirx.While: _while,
        tirx.Return: _return,
        tirx.Break: _break,
        tirx.Continue: _continue,
    }


def _head(begin: str, name: str, declared: Sequence[str]) -> str:
    """Return the head of a function definition, in several lines if one is too long."""
    start = f"{begin} {name}("
    head = f"{start}{', '.join(declared) or 'void'}) {{"
    return (
        head if len(head) <= _LINE_LENGTH else f"{start}\n    " + ",\n    ".join(declared) + ") {"
    )


def _require_flat(buffer: Var) -> None:
    if len(buffer.shape) != 1 or len(buffer.ty.strides) > 0 or not _is_zero(buffer.ty.elem_offset):
        raise UnsupportedInC(f"buffer {buffer.name} is not flat; run FlattenBuffer before codegen")


def _is_zero(expr: tirx.Expr | None) -> bool:
    return expr is None or is_const_int(expr, 0)


def _sets(stmt: tirx.Stmt | None, scalar: Var) -> bool:
    """Return whether `stmt` sets `scalar` to a value independent of its previous value."""
    return (
        isinstance(stmt, tirx.BufferStore)
        and stmt.buffer.same_as(scalar)
        and not mentions(stmt.value, scalar)
    )
