"""When is each allocation of a PrimFunc, and of everything that it calls, in use?

A PrimFunc is walked once. Every statement that can touch memory gets the next program position; a
call of another PrimFunc takes as many positions as that PrimFunc has, so the whole program is
numbered as if all calls were inlined. The result is a `FunctionLiveness`: for each parameter and
for each allocation the positions between its first and its last access. All rules lean to the
safe side: what is not understood counts as an access, and what escapes lives until the end.

RFC 0009, "Step 2"; the wrong-code cases of the original implementation are in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, PointerType, TensorLoad

Span = tuple[int, int]
"""Half-open range of program positions."""

_CALLS_BY_NAME = ("tirx.call_extern", "tirx.call_pure_extern", "tirx.tvm_call_cpacked")
_KEEP_A_POINTER = ("tirx.tvm_struct_set",)
_ADDRESSES = (
    "tirx.buffer_data",
    "tirx.handle_add_byte_offset",
    "tirx.reinterpret",
    "tirx.tvm_access_ptr",
    "tirx.type_annotation",
)
_CONCURRENT_LOOPS = (
    tirx.ForKind.PARALLEL,
    tirx.ForKind.VECTORIZED,
    tirx.ForKind.THREAD_BINDING,
)
_THREAD_ATTRIBUTES = ("thread_extent", "virtual_thread")


@dataclass
class FunctionLiveness:
    """What one call of a PrimFunc does to memory, in positions relative to its start."""

    number_of_parameters: int
    length: int = 0
    parameters: dict[int, Span] = field(default_factory=dict)
    escaping_parameters: set[int] = field(default_factory=set)
    allocations: dict[tirx.AllocBuffer, list[Span]] = field(default_factory=dict)
    """In program order. Several spans where the enclosing PrimFunc is called several times."""
    functions: dict[tirx.AllocBuffer, str] = field(default_factory=dict)
    """The name of the PrimFunc that an allocation stands in."""
    unplannable: set[tirx.AllocBuffer] = field(default_factory=set)
    """Allocations that several iterations may hold at the same time."""


def analyse_liveness(main: str, mod: IRModule) -> FunctionLiveness:
    """The liveness of `main` with everything that it calls in `mod`, to any depth.

    Raises
    ------
    ValueError: a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    return _Program(mod).liveness_of(main)


@dataclass(frozen=True)
class _Call:
    """A call of another PrimFunc of the module."""

    callee: str
    arguments: tuple[tirx.Expr, ...]


class _Program:
    """The PrimFuncs of a module by name, each walked at most once."""

    def __init__(self, mod: IRModule) -> None:
        self.functions = {
            variable.name_hint: func
            for variable, func in mod.functions.items()
            if isinstance(func, tirx.PrimFunc)
        }
        self.names = {name: name for name in self.functions}
        for name, func in self.functions.items():
            symbol = func.attrs.get("global_symbol") if func.attrs else None
            if symbol is not None:
                self.names.setdefault(str(symbol), name)
        self.finished: dict[str, FunctionLiveness] = {}
        self.in_progress: list[str] = []

    def callee(self, call: Call) -> _Call | None:
        """The PrimFunc of this module that `call` calls, and its arguments, if it is one."""
        if isinstance(call.op, GlobalVar):
            called, arguments = call.op.name_hint, call.args
        elif isinstance(call.op, Op) and call.op.name in _CALLS_BY_NAME:
            called, arguments = getattr(call.args[0], "value", None), call.args[1:]
        else:
            return None
        name = self.names.get(called)
        return _Call(name, tuple(arguments)) if name is not None else None

    def liveness_of(self, name: str) -> FunctionLiveness:
        if name not in self.finished:
            if name in self.in_progress:
                chain = [*self.in_progress[self.in_progress.index(name) :], name]
                raise ValueError(f"recursion cannot be planned statically: {' -> '.join(chain)}")
            self.in_progress.append(name)
            self.finished[name] = _FunctionWalk(self, name).run()
            self.in_progress.pop()
        return self.finished[name]


@dataclass(eq=False)
class _Root:
    """A piece of memory: a parameter (`index`) or one execution of an AllocBuffer (`stmt`)."""

    loop_depth: int
    index: int | None = None
    stmt: tirx.AllocBuffer | None = None
    span: Span | None = None
    escapes: bool = False

    def touch(self, start: int, stop: int) -> None:
        low, high = self.span or (start, stop)
        self.span = (min(low, start), max(high, stop))


@dataclass
class _Loop:
    start: int
    concurrent: bool
    touched: set[_Root] = field(default_factory=set)


Roots = frozenset[_Root]


class _FunctionWalk:
    """One walk over one PrimFunc."""

    def __init__(self, program: _Program, name: str) -> None:
        self.program = program
        self.name = name
        self.result = FunctionLiveness(len(program.functions[name].params))
        self.position = 0
        self.loops: list[_Loop] = []
        self.pointers: dict[tirx.Var, Roots] = {}
        """What the memory behind each buffer or pointer variable may be."""
        self.roots: list[_Root] = []

    def run(self) -> FunctionLiveness:
        func = self.program.functions[self.name]
        for index, param in enumerate(func.params):
            root = _Root(loop_depth=0, index=index)
            self.roots.append(root)
            self.pointers[param] = frozenset([root])
        self.statement(func.body)
        self.result.length = self.position
        for root in self.roots:
            self._record(root)
        return self.result

    def _record(self, root: _Root) -> None:
        if root.escapes:
            root.touch(0, max(self.position, 1))
        if root.stmt is not None:
            spans = self.result.allocations[root.stmt]
            if root.span is not None:
                spans.append(root.span)
        elif root.index is not None:
            if root.span is not None:
                self.result.parameters[root.index] = root.span
            if root.escapes:
                self.result.escaping_parameters.add(root.index)

    # ---- statements

    def statement(self, stmt: tirx.Stmt) -> None:
        visit = self._STATEMENTS.get(type(stmt))
        if visit is None:
            raise ValueError(
                f"{self.name}: {type(stmt).__name__} found; "
                "lower the PrimFunc to flat TIR (tirx.transform.FlattenBuffer) before planning"
            )
        visit(self, stmt)

    def _sequence(self, stmt: tirx.SeqStmt) -> None:
        for child in stmt.seq:
            self.statement(child)

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        self.result.allocations.setdefault(stmt, [])
        self.result.functions.setdefault(stmt, self.name)
        root = _Root(loop_depth=len(self.loops), stmt=stmt)
        self.roots.append(root)
        self.pointers[stmt.buffer] = frozenset([root])
        if any(loop.concurrent for loop in self.loops):
            self.result.unplannable.add(stmt)

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        if stmt.data is not None:
            self._use_of_address(stmt.data)
            self.pointers[stmt.buffer] = self._pointed(stmt.data)

    def _bind(self, stmt: tirx.Bind) -> None:
        if _is_pointer(stmt.value):
            self._use_of_address(stmt.value)
            self.pointers[stmt.var] = self._pointed(stmt.value)
        else:
            self.use(stmt.value)

    def _store(self, stmt: tirx.BufferStore) -> None:
        if _is_pointer(stmt.value):
            for root in self._pointed(stmt.value):
                root.escapes = True
        self.use(stmt.value, *stmt.indices, stmt.buffer)

    def _evaluate(self, stmt: tirx.Evaluate) -> None:
        self.use(stmt.value)

    def _return(self, stmt: tirx.Return) -> None:
        if stmt.value is not None:
            for root in self._pointed(stmt.value):
                root.escapes = True
            self.use(stmt.value)

    def _jump(self, stmt: tirx.Break | tirx.Continue) -> None:
        """Positions follow the text, not the jumps; a loop's iterations are joined anyway."""

    def _assert(self, stmt: tirx.AssertStmt) -> None:
        self.use(stmt.condition)

    def _attribute(self, stmt: tirx.AttrStmt) -> None:
        if isinstance(stmt.value, tirx.Expr):
            self.use(stmt.value)
        if str(stmt.attr_key) in _THREAD_ATTRIBUTES:
            self._loop_body(stmt.body, concurrent=True)
        else:
            self.statement(stmt.body)

    def _branch(self, stmt: tirx.IfThenElse) -> None:
        self.use(stmt.condition)
        self.statement(stmt.then_case)
        if stmt.else_case is not None:
            self.statement(stmt.else_case)

    def _for(self, stmt: tirx.For) -> None:
        self.use(stmt.min, stmt.extent)
        self._loop_body(stmt.body, concurrent=stmt.kind in _CONCURRENT_LOOPS)

    def _while(self, stmt: tirx.While) -> None:
        self._loop_body(stmt.body, concurrent=False, condition=stmt.condition)

    def _loop_body(
        self, body: tirx.Stmt, concurrent: bool, condition: tirx.Expr | None = None
    ) -> None:
        """Any iteration may follow any other: what exists before the loop and is touched in it
        lives through the whole loop."""
        loop = _Loop(self.position, concurrent)
        self.loops.append(loop)
        if condition is not None:
            self.use(condition)
        self.statement(body)
        self.loops.pop()
        for root in loop.touched:
            if root.loop_depth <= len(self.loops):
                self._touch(root, loop.start, self.position)

    _STATEMENTS: ClassVar[dict[type, Callable[[_FunctionWalk, tirx.Stmt], None]]] = {
        tirx.SeqStmt: _sequence,
        tirx.AllocBuffer: _allocate,
        tirx.DeclBuffer: _declare,
        tirx.Bind: _bind,
        tirx.BufferStore: _store,
        tirx.Evaluate: _evaluate,
        tirx.Return: _return,
        tirx.Break: _jump,
        tirx.Continue: _jump,
        tirx.AssertStmt: _assert,
        tirx.AttrStmt: _attribute,
        tirx.IfThenElse: _branch,
        tirx.For: _for,
        tirx.While: _while,
    }

    # ---- expressions

    def use(self, *exprs: tirx.Expr) -> None:
        """Everything that `exprs` mention is accessed at the next position; calls follow it."""
        calls: list[_Call] = []
        mentioned: set[_Root] = set()

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            callee = self.program.callee(call)
            if callee is not None:
                calls.append(callee)
                return tvm_ffi.WalkResult.SKIP
            if isinstance(call.op, Op) and call.op.name in _KEEP_A_POINTER:
                for root in self._pointed(call):
                    root.escapes = True
            return tvm_ffi.WalkResult.ADVANCE

        def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
            mentioned.update(self.pointers.get(var, ()))
            return tvm_ffi.WalkResult.SKIP

        for expr in exprs:
            tvm_ffi.structural_walk(expr, [(Call, on_call), (tirx.Var, on_variable)], order="pre")
        alone = len(calls) == 1 and len(exprs) == 1 and isinstance(exprs[0], Call)
        if not alone or mentioned:
            # C leaves the order of evaluation open: what stands beside a call lives through it.
            for call in calls:
                for argument in call.arguments:
                    mentioned.update(self._pointed(argument))
            self._touch_all(mentioned)
        for call in calls:
            self._splice(call)
        if calls:
            self._touch_all(mentioned)

    def _touch_all(self, roots: set[_Root]) -> None:
        for root in roots:
            self._touch(root, self.position, self.position + 1)
        self.position += 1

    def _pointed(self, expr: tirx.Expr) -> Roots:
        """The memory that pointers in `expr` may point to; what it only loads does not count."""
        found: set[_Root] = set()

        def on_address_of(call: Call) -> tvm_ffi.WalkResult:
            if _is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
                found.update(self.pointers.get(call.args[0].source, ()))
                return tvm_ffi.WalkResult.SKIP
            return tvm_ffi.WalkResult.ADVANCE

        def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
            if isinstance(load.ty, PointerType):
                found.update(self.pointers.get(load.source, ()))
            return tvm_ffi.WalkResult.SKIP

        def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
            found.update(self.pointers.get(var, ()))
            return tvm_ffi.WalkResult.SKIP

        callbacks = [(Call, on_address_of), (TensorLoad, on_load), (tirx.Var, on_variable)]
        tvm_ffi.structural_walk(expr, callbacks, order="pre")
        return frozenset(found)

    def _use_of_address(self, expr: tirx.Expr) -> None:
        """Taking an address accesses nothing, except what is loaded or called to compute it."""
        computed: list[tirx.Expr] = []

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            if _is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
                computed.extend(i for i in call.args[0].indices if not isinstance(i, tirx.IntImm))
                return tvm_ffi.WalkResult.SKIP
            if isinstance(call.op, Op) and call.op.name in _ADDRESSES:
                return tvm_ffi.WalkResult.ADVANCE
            computed.append(call)
            return tvm_ffi.WalkResult.SKIP

        def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
            computed.append(load)
            return tvm_ffi.WalkResult.SKIP

        tvm_ffi.structural_walk(expr, [(Call, on_call), (TensorLoad, on_load)], order="pre")
        if computed:
            self.use(*computed)

    def _splice(self, call: _Call) -> None:
        """Put the liveness of the called PrimFunc in at this position."""
        callee = self.program.liveness_of(call.callee)
        for argument in call.arguments:
            self._use_of_address(argument)
        start = self.position
        self.position += callee.length
        for index, argument in enumerate(call.arguments):
            if index < callee.number_of_parameters:
                span = callee.parameters.get(index)
            else:
                span = (0, callee.length)
            for root in self._pointed(argument):
                if span is not None:
                    self._touch(root, start + span[0], start + span[1])
                root.escapes |= index in callee.escaping_parameters
        concurrent = any(loop.concurrent for loop in self.loops)
        for stmt, spans in callee.allocations.items():
            shifted = [(start + low, start + high) for low, high in spans]
            self.result.allocations.setdefault(stmt, []).extend(shifted)
            self.result.functions.setdefault(stmt, callee.functions[stmt])
            if concurrent or stmt in callee.unplannable:
                self.result.unplannable.add(stmt)

    def _touch(self, root: _Root, start: int, stop: int) -> None:
        root.touch(start, stop)
        for loop in self.loops:
            loop.touched.add(root)


def _is_op(call: Call, name: str) -> bool:
    return isinstance(call.op, Op) and call.op.name == name


def _is_pointer(expr: tirx.Expr) -> bool:
    """A pointer, or an integer that was made of one."""
    if isinstance(expr.ty, PointerType):
        return True
    casts: list[Call] = []

    def on_call(call: Call) -> None:
        if _is_op(call, "tirx.reinterpret") and isinstance(call.args[0].ty, PointerType):
            casts.append(call)

    tvm_ffi.structural_walk(expr, (Call, on_call))
    return bool(casts)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sorted, disjoint, non-adjacent spans that cover the same positions."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
