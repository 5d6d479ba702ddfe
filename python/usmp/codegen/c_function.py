"""A flat TIR PrimFunc as a C99 function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, Op, PointerType, Var
from tvm.tirx import IntImm

from usmp.codegen.c_expression import ExpressionPrinter, Helpers
from usmp.codegen.c_types import UnsupportedInC, c_type, memory_type
from usmp.codegen.names import Scope
from usmp.codegen.written_parameters import WrittenParameters, pointed

_LINE_LENGTH = 100


def print_function(
    name: str,
    func: tirx.PrimFunc,
    functions: Mapping[str, str],
    written: WrittenParameters,
    helpers: Helpers,
) -> str:
    """The definition of `func` as a static C function.

    Parameters
    ----------
    name: name of its GlobalVar.
    func: flat TIR after LowerIntrin for target "c".
    functions: C names of all PrimFuncs of the module, by the names of their GlobalVars.
    written: which parameters of which PrimFunc are written.
    helpers: collects the helper functions that the code needs.

    Raises
    ------
    UnsupportedInC: the function has something that portable C99 lacks.
    """
    try:
        return _FunctionPrinter(name, func, functions, written, helpers).print()
    except UnsupportedInC as error:
        raise UnsupportedInC(f"{name}: {error}") from error


def parameter_types(func: tirx.PrimFunc, written: set[int]) -> list[str]:
    """The C type of each parameter."""
    return [_parameter_type(param, index in written) for index, param in enumerate(func.params)]


def _parameter_type(param: Var, is_written: bool) -> str:
    const = "" if is_written else "const "
    if tirx.is_buffer_var(param):
        return f"{const}{memory_type(str(param.ty.dtype))}*"
    if isinstance(param.ty, PointerType):
        dtype = str(param.ty.element_type.dtype)
        return f"{const}{'void' if dtype == 'void' else memory_type(dtype)}*"
    return c_type(str(param.ty.dtype))


class _FunctionPrinter:
    def __init__(
        self,
        name: str,
        func: tirx.PrimFunc,
        functions: Mapping[str, str],
        written: WrittenParameters,
        helpers: Helpers,
    ) -> None:
        self.func = func
        self.c_name = functions[name]
        self.written = written.of(name)
        self.written_variables = written.variables(name)
        self.scope = Scope(functions.values())
        self.names: dict[Var, str] = {}
        self.used = _used_variables(func.body)
        self.scalars = _scalars(func.body)
        self.expressions = ExpressionPrinter(self.names, self.scalars, functions, helpers)
        self.lines: list[str] = []
        self.indent = 1

    def print(self) -> str:
        types = parameter_types(self.func, self.written)
        declared = []
        for param, type_name in zip(self.func.params, types, strict=True):
            self.names[param] = self.scope.unique(param.name)
            declared.append(f"{type_name} {self.names[param]}")
        for param in self.func.params:
            if param not in self.used:
                self._line(f"(void){self.names[param]};")
        self._statement(self.func.body)
        head = f"static void {self.c_name}({', '.join(declared) or 'void'}) {{"
        if len(head) > _LINE_LENGTH:
            head = f"static void {self.c_name}(\n    " + ",\n    ".join(declared) + ") {"
        return "\n".join([head, *self.lines, "}"])

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
        for child in stmt.seq:
            self._statement(child)

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        """What was not planned is a C local: scratch in registers or on the stack."""
        if stmt.buffer not in self.used:
            return
        name = self.names[stmt.buffer] = self.scope.unique(stmt.buffer.name)
        element = c_type(str(stmt.buffer.dtype))
        if stmt.buffer in self.scalars:
            self._line(f"{element} {name};")
            return
        extents = [extent for extent in stmt.buffer.shape if isinstance(extent, IntImm)]
        if len(extents) != 1 or len(stmt.buffer.shape) != 1:
            raise UnsupportedInC(f"buffer {stmt.buffer.name} is not flat and of constant size")
        self._line(f"{memory_type(str(stmt.buffer.dtype))} {name}[{int(extents[0])}];")

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        if stmt.buffer not in self.used:
            return
        source = pointed(stmt.data)
        is_plain = isinstance(stmt.data, Var) or _is_op(stmt.data, "tirx.buffer_data")
        if is_plain and source in self.names and self._element(source) == stmt.buffer.dtype:
            self.names[stmt.buffer] = self.names[source]
            return
        pointer = self._pointer(stmt.buffer, str(stmt.buffer.dtype), stmt.data)
        name = self.names[stmt.buffer] = self.scope.unique(stmt.buffer.name)
        self._line(f"{pointer[0]} {name} = {pointer[1]};")

    def _pointer(self, view: Var, dtype: str, data: tirx.Expr) -> tuple[str, str]:
        """Type and value of a pointer through which `view` is accessed.

        The cast by way of `void*` tells compilers that the planner has seen to the alignment.
        """
        const = "" if view in self.written_variables else "const "
        type_name = f"{const}{memory_type(dtype)}*"
        value = self.expressions.print(data)
        return type_name, f"({type_name})({const}void*)({value})"

    def _element(self, var: Var) -> str:
        ty = var.ty.element_type if isinstance(var.ty, PointerType) else var.ty
        return str(ty.dtype)

    def _bind(self, stmt: tirx.Bind) -> None:
        if stmt.var not in self.used:
            return
        value = self.expressions.print(stmt.value)
        if isinstance(stmt.var.ty, PointerType):
            type_name, value = self._pointer(stmt.var, self._element(stmt.var), stmt.value)
        else:
            type_name = f"const {c_type(str(stmt.var.ty.dtype))}"
        name = self.names[stmt.var] = self.scope.unique(stmt.var.name)
        self._line(f"{type_name} {name} = {value};")

    def _store(self, stmt: tirx.BufferStore) -> None:
        target = self.expressions.element(stmt.buffer, list(stmt.indices))
        self._line(f"{target} = {self.expressions.print(stmt.value)};")

    def _evaluate(self, stmt: tirx.Evaluate) -> None:
        if not isinstance(stmt.value, IntImm):
            self._line(f"{self.expressions.print(stmt.value)};")

    def _attribute(self, stmt: tirx.AttrStmt) -> None:
        self._statement(stmt.body)

    def _branch(self, stmt: tirx.IfThenElse) -> None:
        self._block(f"if ({self.expressions.print(stmt.condition)})", stmt.then_case)
        if stmt.else_case is not None:
            self.lines.pop()
            self._block("} else", stmt.else_case)

    def _for(self, stmt: tirx.For) -> None:
        """Any kind of loop may run its iterations one after the other."""
        if stmt.kind == tirx.ForKind.THREAD_BINDING:
            raise UnsupportedInC(f"loop {stmt.loop_var.name} is bound to a thread")
        name = self.names[stmt.loop_var] = self.scope.unique(stmt.loop_var.name)
        index = c_type(str(stmt.loop_var.ty.dtype))
        start = self.expressions.print(stmt.min)
        is_zero = isinstance(stmt.min, IntImm) and int(stmt.min) == 0
        stop = self.expressions.print(stmt.extent if is_zero else stmt.min + stmt.extent)
        step = f"{name} += {self.expressions.print(stmt.step)}" if stmt.step else f"++{name}"
        self._block(f"for ({index} {name} = {start}; {name} < {stop}; {step})", stmt.body)

    def _while(self, stmt: tirx.While) -> None:
        self._block(f"while ({self.expressions.print(stmt.condition)})", stmt.body)

    def _return(self, stmt: tirx.Return) -> None:
        if stmt.value is not None and not isinstance(stmt.value, IntImm):
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


def _is_op(expr: tirx.Expr, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _used_variables(body: tirx.Stmt) -> set[Var]:
    """Variables that something else than their own declaration mentions."""
    used: set[Var] = set()

    def on_declaration(stmt: tirx.DeclBuffer) -> tvm_ffi.WalkResult:
        tvm_ffi.structural_walk(stmt.data, (Var, lambda var: used.add(var)))
        return tvm_ffi.WalkResult.SKIP

    def on_bind(stmt: tirx.Bind) -> tvm_ffi.WalkResult:
        tvm_ffi.structural_walk(stmt.value, (Var, lambda var: used.add(var)))
        return tvm_ffi.WalkResult.SKIP

    def on_allocation(stmt: tirx.AllocBuffer) -> tvm_ffi.WalkResult:
        return tvm_ffi.WalkResult.SKIP

    def on_variable(var: Var) -> tvm_ffi.WalkResult:
        used.add(var)
        return tvm_ffi.WalkResult.SKIP

    callbacks = [
        (tirx.DeclBuffer, on_declaration),
        (tirx.Bind, on_bind),
        (tirx.AllocBuffer, on_allocation),
        (Var, on_variable),
    ]
    tvm_ffi.structural_walk(body, callbacks, order="pre")
    return used


def _scalars(body: tirx.Stmt) -> set[Var]:
    """Allocations of one element whose address nobody takes: plain C variables."""
    single: set[Var] = set()
    addressed: set[Var] = set()

    def on_allocation(stmt: tirx.AllocBuffer) -> None:
        if [int(e) for e in stmt.buffer.shape if isinstance(e, IntImm)] == [1]:
            single.add(stmt.buffer)

    def on_call(call: Call) -> None:
        source = pointed(call)
        if source is not None and not isinstance(call.op, GlobalVar):
            addressed.add(source)

    tvm_ffi.structural_walk(body, [(tirx.AllocBuffer, on_allocation), (Call, on_call)])
    return single - addressed
