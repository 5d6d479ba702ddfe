"""The body of a PrimFunc that allocates in the order of a stack, for `LowerDynamicAllocations`.

Every exit of a sequence of statements, failed allocations included, first releases the blocks of
the sequence, the last block first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import lcm
from typing import ClassVar

from tvm import tirx
from tvm.ir import Call, PrimType, Var

from usmp.analysis.buffer_extraction import byte_alignment
from usmp.analysis.dynamic.lifetimes import DynamicBlock, dynamic_blocks, dynamic_lifetimes
from usmp.analysis.dynamic.sizes import dynamic_size, is_dynamic
from usmp.analysis.memory.calls import possible_calls
from usmp.analysis.memory.effects import ASYNCHRONOUS_ATTRIBUTES, CONCURRENT_ATTRIBUTES
from usmp.analysis.memory.facts import FunctionFacts
from usmp.names import ARENA
from usmp.objects.arguments.executor import Executor
from usmp.objects.attributes.module_attributes import POOL_ARGS_ATTR
from usmp.plain.c_interface import NO_MEMORY
from usmp.tir.dynamic_allocator import WORKSPACE_ALIGNMENT, DynamicAllocator
from usmp.tir.nodes import changed_loop, int32, is_const_int, nodes_of, sequence
from usmp.tir.op_names import is_op
from usmp.tir.own_function import own_function_name
from usmp.tir.tensor_intrin import intrinsic_call

_JUMPS = ("tirx.break_loop", "tirx.continue_loop")
_AT_ONCE = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED, tirx.ForKind.THREAD_BINDING)


class StackAllocations:
    """A rewriter of one PrimFunc.

    Parameters
    ----------
    facts
        facts of the PrimFunc.
    failing
        the names of the PrimFuncs that return a status, because they allocate.
    allocator
        the allocator of blocks.
    executor
        the executor, which decides the alignment of buffers.

    Raises
    ------
    ValueError
        see `LowerDynamicAllocations`; methods raise it, too.
    """

    def __init__(
        self,
        facts: FunctionFacts,
        failing: Collection[str],
        allocator: DynamicAllocator,
        executor: Executor,
    ) -> None:
        self.facts = facts
        self.failing = failing
        self.allocator = allocator
        self.executor = executor
        self.returns_status = str(getattr(facts.func.ret_type, "dtype", "")) == "int32"
        self.live: list[Var] = []
        """The addresses of the blocks that are allocated at this point, the last at the end."""
        self.loops: list[int] = []
        """For each loop around the statement, the number of blocks before the loop."""
        self.sizes: dict[Var, Var] = {}
        """The variable with the bytes of each buffer."""

    def body(self) -> tirx.Stmt:
        """Return the new body."""
        statements = self._sequence(self.facts.func.body)
        if not (statements and isinstance(statements[-1], tirx.Return)):
            statements.append(tirx.Return(int32(0)))
        return sequence(statements)

    def _sequence(self, body: tirx.Stmt) -> list[tirx.Stmt]:
        """Return the statements of a sequence, with allocations and releases among them."""
        statements = tirx.stmt_list(body)
        blocks = dynamic_blocks(dynamic_lifetimes(statements, self.facts))
        measured = {block.largest.stmt.buffer for block in blocks}
        stack, written = list[tuple[DynamicBlock, Var]](), list[tirx.Stmt]()
        for index, stmt in enumerate(statements):
            if isinstance(stmt, tirx.AllocBuffer) and is_dynamic(stmt):
                written += self._measure(stmt) if stmt.buffer in measured else []
                continue
            # Allocate long-lived blocks first, because the last block is released first.
            for block in sorted(blocks, key=lambda block: -block.last):
                if block.first == index:
                    written += self._allocate(block)
                    stack.append((block, self.live[-1]))
            written += [
                tirx.DeclBuffer(member.stmt.buffer, data=pointer)
                for block, pointer in stack
                for member in block.members[1:]
                if member.first == index
            ]
            written += self._statement(stmt)
            is_over = _leaves(stmt)
            while stack and (is_over or stack[-1][0].last <= index):
                stack.pop()
                pointer = self.live.pop()
                written += [] if is_over else [self.allocator.release(pointer)]
            if is_over:
                break
        return written

    def _measure(self, stmt: tirx.AllocBuffer) -> list[tirx.Stmt]:
        """Bind the bytes of a buffer where it is declared: later writes may change its extents."""
        name, size = str(stmt.buffer.name), dynamic_size(stmt, self.facts.name)
        size_bytes = self.sizes[stmt.buffer] = tirx.Var(f"{name}_bytes", "int64")
        if not size.has_limits:
            return [tirx.Bind(size_bytes, size.size_bytes(size.elements))]
        elements = tirx.Var(f"{name}_elements", "int64")
        return [
            tirx.Bind(elements, size.elements),
            tirx.Bind(size_bytes, size.size_bytes(elements)),
        ]

    def _allocate(self, block: DynamicBlock) -> list[tirx.Stmt]:
        """Return the allocation of a block for its first buffer, with an exit if it fails."""
        buffer = block.largest.stmt.buffer
        size_bytes = self.sizes[buffer]
        alignment = lcm(*(byte_alignment(m.stmt, self.executor) for m in block.members))
        pointer = tirx.Var(f"{buffer.name}_block", tirx.Var("_", "handle").ty)
        checks = []
        if self.allocator.kind != ARENA:
            if alignment > WORKSPACE_ALIGNMENT:
                raise ValueError(
                    f"{self.facts.name}: buffer {buffer.name} must be aligned to {alignment} bytes,"
                    f" but what TVM's runtime allocates is aligned to {WORKSPACE_ALIGNMENT}"
                )
            checks.append(self._end_if(size_bytes < tirx.IntImm("int64", 0), int32(NO_MEMORY)))
        allocated = self.allocator.allocate(pointer, size_bytes, alignment, str(buffer.dtype))
        failed = self._end_if(tirx.isnullptr(pointer), int32(NO_MEMORY))
        self.live.append(pointer)
        declared = tirx.DeclBuffer(block.members[0].stmt.buffer, data=pointer)
        return [*checks, allocated, failed, declared]

    def _end_if(self, condition: tirx.Expr, status: tirx.Expr) -> tirx.Stmt:
        """Return a statement that ends the run with a status, after all blocks are released."""
        return tirx.IfThenElse(condition, sequence([*self._releases(0), tirx.Return(status)]), None)

    def _releases(self, outside: int) -> list[tirx.Stmt]:
        """Return the releases of all blocks but the first `outside` ones."""
        return [self.allocator.release(pointer) for pointer in reversed(self.live[outside:])]

    # ---- statements

    def _statement(self, stmt: tirx.Stmt) -> list[tirx.Stmt]:
        """Return a statement, which is no allocation, as one or more statements."""
        visit = self._STATEMENTS.get(type(stmt))
        if visit is not None:
            return visit(self, stmt)
        self._check_no_call(stmt)
        return [stmt]

    def _evaluate(self, stmt: tirx.Evaluate) -> list[tirx.Stmt]:
        call = stmt.value
        if any(is_op(call, jump) for jump in _JUMPS):
            return self._jump(stmt)
        emitted_call = self.facts.calls.resolve(call) if isinstance(call, Call) else None
        if emitted_call is None or emitted_call.callee not in self.failing:
            self._check_no_call(stmt)
            return [stmt]
        self._check_no_call(list(emitted_call.arguments))
        callee = self.facts.calls.functions[emitted_call.callee]
        # Pools are the last parameters, and a resource handle may come after all of them.
        pools = len(POOL_ARGS_ATTR.of(callee) or ())
        place = emitted_call.first_argument + len(callee.params) - pools
        arena = [] if self.allocator.arena is None else [self.allocator.arena]
        arguments = [*call.args[:place], *arena, *call.args[place:]]
        status = tirx.Var("status", "int32")
        return [
            tirx.Bind(status, Call(call.op, arguments, span=call.span, ret_ty=PrimType("int32"))),
            self._end_if(status != 0, status),
        ]

    def _return(self, stmt: tirx.Return) -> list[tirx.Stmt]:
        """Return the value, computed first, after all blocks are released."""
        self._check_no_call(stmt)
        value = int32(0) if stmt.value is None else stmt.value
        if not self.returns_status and not is_const_int(value, 0):
            raise ValueError(
                f"{self.facts.name} returns {value}, but is declared to return nothing; "
                "it allocates memory of dynamic size, and so returns a status"
            )
        if not self.live or isinstance(value, tirx.IntImm | Var):
            return [*self._releases(0), tirx.Return(value)]
        result = tirx.Var("result", "int32")
        return [tirx.Bind(result, value), *self._releases(0), tirx.Return(result)]

    def _jump(self, stmt: tirx.Stmt) -> list[tirx.Stmt]:
        return [*self._releases(self.loops[-1] if self.loops else 0), stmt]

    def _branch(self, stmt: tirx.IfThenElse) -> list[tirx.Stmt]:
        self._check_no_call(stmt.condition)
        cases = [
            None if case is None else sequence(self._sequence(case))
            for case in (stmt.then_case, stmt.else_case)
        ]
        return [tirx.IfThenElse(stmt.condition, *cases, stmt.span)]

    def _for(self, stmt: tirx.For) -> list[tirx.Stmt]:
        self._check_no_call([stmt.min, stmt.extent, *([] if stmt.step is None else [stmt.step])])
        if stmt.kind in _AT_ONCE:
            self._check_allocates_nothing(stmt.body, f"loop {stmt.loop_var.name}")
        return [changed_loop(stmt, stmt.kind, self._loop(stmt.body))]

    def _while(self, stmt: tirx.While) -> list[tirx.Stmt]:
        self._check_no_call(stmt.condition)
        return [tirx.While(stmt.condition, self._loop(stmt.body), stmt.span)]

    def _loop(self, body: tirx.Stmt) -> tirx.Stmt:
        """Return a loop's body, in which each iteration releases its own blocks."""
        self.loops.append(len(self.live))
        rewritten = sequence(self._sequence(body))
        self.loops.pop()
        return rewritten

    def _attribute(self, stmt: tirx.AttrStmt) -> list[tirx.Stmt]:
        key = str(stmt.attr_key)
        if key in (*CONCURRENT_ATTRIBUTES, *ASYNCHRONOUS_ATTRIBUTES):
            self._check_allocates_nothing(stmt.body, f"statement with {key}")
        if intrinsic_call(stmt) is not None or own_function_name(stmt) is not None:
            self._check_allocates_nothing(stmt.body, f"statement with {key}")
            return [stmt]
        body = sequence(self._sequence(stmt.body))
        return [tirx.AttrStmt(stmt.node, key, stmt.value, body, stmt.span)]

    # ---- checks

    def _check_no_call(self, root: object) -> None:
        """Refuse calls that may fail in an expression, because their status must be tested."""
        called = self._failing_calls(root)
        if called:
            raise ValueError(
                f"{self.facts.name} calls {called[0]} in an expression, but {called[0]} allocates "
                "memory of dynamic size and returns a status; call it in a statement of its own"
            )

    def _check_allocates_nothing(self, body: tirx.Stmt, where: str) -> None:
        """Refuse allocations in concurrent iterations, because their blocks are no stack."""
        names = [s.buffer.name for s in nodes_of(body, tirx.AllocBuffer) if is_dynamic(s)]
        called = self._failing_calls(body)
        if names or called:
            subject = f"buffer {names[0]}" if names else f"{called[0]}, which is called there,"
            raise ValueError(
                f"{self.facts.name}: {subject} has a size that only the run knows, but {where} may "
                "run several times at once, or apart from what is around it, and blocks of dynamic "
                "size are a stack; make the loop serial (usmp.transform.ConvertForLoopsToSerial), "
                "or allocate outside of it"
            )

    def _failing_calls(self, root: object) -> list[str]:
        resolved = map(self.facts.calls.resolve_possible, possible_calls(root))
        return [c.callee for c in resolved if c is not None and c.callee in self.failing]

    _STATEMENTS: ClassVar[dict[type, Callable[[StackAllocations, tirx.Stmt], list[tirx.Stmt]]]] = {
        tirx.Evaluate: _evaluate,
        tirx.Return: _return,
        tirx.Break: _jump,
        tirx.Continue: _jump,
        tirx.IfThenElse: _branch,
        tirx.For: _for,
        tirx.While: _while,
        tirx.AttrStmt: _attribute,
    }


def _leaves(stmt: tirx.Stmt) -> bool:
    """Return whether no later statement of the sequence runs after this one."""
    jumps = isinstance(stmt, tirx.Evaluate) and any(is_op(stmt.value, jump) for jump in _JUMPS)
    return jumps or isinstance(stmt, tirx.Return | tirx.Break | tirx.Continue)
