"""Which memory do the expressions of a PrimFunc access, and the PrimFuncs that they call?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, PrimType, TensorLoad

from usmp.analysis.memory.access import Access, MemoryUse, Movement, declared_access, item_bytes
from usmp.analysis.memory.addresses import address_of, is_constant, is_op
from usmp.analysis.memory.calls import CallResolver, PrimFuncCall
from usmp.analysis.memory.effects import KEEP_A_POINTER
from usmp.analysis.memory.function_liveness import FunctionLiveness, PositionRange
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.points_to import PointsTo
from usmp.analysis.memory.stated_kernel import StatedKernel, stated_access, stated_kernel
from usmp.analysis.memory.statement_walk import StatementWalk
from usmp.analysis.memory.walk_state import Loop, MemoryState, Outermost
from usmp.tir.walk_expressions import ExprCallbacks, walk_expressions


class ExpressionWalk(StatementWalk):
    """A walk that numbers program positions, and notes what expressions access at each.

    Its parameters are those of `usmp.analysis.memory.liveness.walk_liveness`.
    """

    current: Outermost
    """The outermost statement that the walk is in."""

    def __init__(
        self,
        name: str,
        calls: CallResolver,
        points: PointsTo,
        callees: Mapping[str, FunctionLiveness],
        kernels: Mapping[str, StatedKernel],
    ) -> None:
        super().__init__(name)
        self.calls = calls
        self.points = points
        self.kernels = kernels
        self.callees = callees
        self.func = calls.functions[name]
        self.position = 0
        self.loops: list[Loop] = []
        self.times = 1
        """How often the current statement runs in one call, at the most."""
        self.memories = {memory: MemoryState() for memory in points.memories}
        self.allocations: dict[tirx.AllocBuffer, list[PositionRange]] = {}
        self.allocation_use: dict[tirx.AllocBuffer, MemoryUse] = {}
        self.functions: dict[tirx.AllocBuffer, str] = {}
        self.unplannable: set[tirx.AllocBuffer] = set()
        self.passed: set[tirx.Var] = set()
        self.written: set[tirx.Var] = set()
        self.statements: list[Outermost] = []

    def use(self, *exprs: tirx.Expr, written: tirx.Var | None = None) -> None:
        """Note that all memory that `exprs` mention is accessed at the next position; calls follow,
        and then the store to the buffer `written`."""
        calls: list[PrimFuncCall] = []
        mentioned: dict[Memory, Access] = {}
        loads: dict[tirx.Var, int] = {}
        addressed: list[TensorLoad] = []

        def mention(var: tirx.Var, access: Access) -> None:
            for memory in self.points.memories_behind.get(var, ()):
                mentioned[memory] = mentioned.get(memory, Access.NONE) | access
                self._note(var, access)
            for memory in self.points.layouts.get(var, ()):
                mentioned[memory] = mentioned.get(memory, Access.NONE) | Access.READ

        def pass_pointer(pointer: tirx.Expr, access: Access) -> None:
            address = address_of(pointer)
            for base in address.bases:
                mention(base, access)
                self._move(base, access)
                self.passed.add(base)
            walk_expressions(address.computed, callbacks)

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            callee = self.calls.resolve(call)
            if callee is not None:
                calls.append(callee)
                return tvm_ffi.WalkResult.SKIP
            if is_op(call, "tirx.address_of") and isinstance(call.args[0], TensorLoad):
                mention(call.args[0].source, Access.UNKNOWN)
                self._move(call.args[0].source, Access.UNKNOWN)
                addressed.append(call.args[0])
            stated = stated_kernel(call, self.kernels, self.name)
            if stated is not None:
                kernel, _ = stated
                passed = call.args[1:]
                for argument, known in zip(passed, kernel.kernel.arguments, strict=False):
                    pass_pointer(argument, stated_access(known))
                    if declared_access(argument) != Access.READ:
                        self._keep_type(address_of(argument).bases)
                rest = passed[len(kernel.params) :]
                walk_expressions(rest, callbacks)
                return tvm_ffi.WalkResult.SKIP
            declared = declared_access(call)
            if declared is not None:
                pass_pointer(call, declared)
                return tvm_ffi.WalkResult.SKIP
            if isinstance(call.op, Op) and call.op.name in KEEP_A_POINTER:
                self._escape(call)
            return tvm_ffi.WalkResult.ADVANCE

        def on_load(load: TensorLoad) -> None:
            is_passed = bool(addressed) and addressed.pop().same_as(load)
            source = self.points.known(load.source)
            if source is not None:
                loads[source] = loads.get(source, 0) + 1
                if not is_passed:
                    self._move(source, Access.READ, load.ty)

        def on_variable(mentioned_var: tirx.Var) -> tvm_ffi.WalkResult:
            var = self.points.known(mentioned_var)
            if var is None:
                return tvm_ffi.WalkResult.SKIP
            # The walk comes to the source of each load once; any other mention is the pointer.
            is_load = loads.get(var, 0) > 0
            if is_load:
                loads[var] -= 1
            mention(var, Access.READ if is_load else Access.UNKNOWN)
            if not is_load:
                self._move(var, Access.UNKNOWN)
            return tvm_ffi.WalkResult.SKIP

        walked = [expr for expr in exprs if not is_constant(expr)]
        callbacks: ExprCallbacks = {Call: on_call, TensorLoad: on_load, tirx.Var: on_variable}
        walk_expressions(walked, callbacks)
        if written is not None:
            mention(written, Access.WRITE)
        if len(calls) == 1 and not mentioned:
            self._splice(calls[0])
            return
        if calls:
            # C leaves the order of evaluation open: whatever any part may access, arguments of
            # calls too, lives through all calls.
            on_any = (tirx.Var, lambda var: mention(var, Access.NONE))
            tvm_ffi.structural_walk(walked, on_any, order="pre")
        self._touch_all(mentioned)
        for call in calls:
            self._splice(call)
        if calls:
            self._touch_all(mentioned)

    def _move(self, var: tirx.Var, access: Access, value: PrimType | None = None) -> None:
        """Count a load or store of a `value`; without one, of the whole memory."""
        memories = self.points.memories_behind.get(var, ())
        if not memories:
            return
        sizes = (1, 0)
        if value is not None:
            sizes = self.points.element_bytes(var), item_bytes(str(value.dtype))
        movement = Movement(self.name, access, *sizes)
        for memory in memories:
            self.memories[memory].use.movements[movement] += self.times

    def _touch_all(self, accesses: dict[Memory, Access]) -> None:
        for memory, access in accesses.items():
            self._touch(memory, self.position, self.position + 1)
            if access:
                self.memories[memory].use.add(self.name, access)
                self.current.access(memory, access)
        self.position += 1

    def _note(self, var: tirx.Var, access: Access) -> None:
        """Note an access to memory through this variable."""
        if access.may_write:
            self.written.add(var)
        if access & Access.UNKNOWN:
            self.passed.add(var)

    def _escape(self, expr: tirx.Expr) -> None:
        """Note that the value of `expr` is kept: what it points to may be accessed from now on."""
        for base in address_of(expr).bases:
            self._note(base, Access.UNKNOWN)
            for memory in self.points.memories_behind.get(base, ()):
                self.memories[memory].escaped = True
                self.memories[memory].use.add(self.name, Access.UNKNOWN)
                self.current.access(memory, Access.UNKNOWN)

    def _keep_type(self, pointers: Iterable[tirx.Var]) -> None:
        """Note that C declares these as pointers to what may be written, though a kernel states
        that it only reads there: it is declared as without the statement."""
        pending, found = [*pointers], set[tirx.Var]()
        while pending:
            pointer = pending.pop()
            if pointer not in found:
                found.add(pointer)
                pending += self.points.sources.get(pointer, ())
        self.written |= found

    def _splice(self, call: PrimFuncCall) -> None:
        """Put the liveness of the called PrimFunc in at this position, after its arguments."""
        callee, params = self.callees[call.callee], self.calls.functions[call.callee].params
        addresses = [address_of(argument) for argument in call.arguments]
        computed = [part for address in addresses for part in address.computed]
        if computed:
            self.use(*computed)
        start = self.position
        self.position += callee.length
        for index, address in enumerate(addresses):
            if index in callee.parameter_use:
                positions, use = callee.parameters.get(index), callee.parameter_use[index]
            else:
                positions, use = (0, callee.length), MemoryUse.unknown(call.callee)
            access = use.access
            for base in address.bases:
                self.passed.add(base)
                self._note(base, access)
            is_typed = index < len(params) and params[index] in callee.written
            if is_typed and not access.may_write:
                self._keep_type(address.bases)
            for memory in self.points.behind_all(address.bases):
                state = self.memories[memory]
                if positions is not None:
                    self._touch(memory, start + positions[0], start + positions[1])
                state.use.add_call(use, self.times)
                self.current.access(memory, access)
                state.escaped |= index in callee.escaped_parameters
        concurrent = any(loop.concurrent for loop in self.loops)
        for stmt, ranges in callee.allocations.items():
            shifted = [(start + low, start + high) for low, high in ranges]
            self.allocations.setdefault(stmt, []).extend(shifted)
            self.current.allocations.setdefault(stmt, []).extend(shifted)
            self.functions.setdefault(stmt, callee.functions[stmt])
            use = callee.allocation_use[stmt]
            self.allocation_use.setdefault(stmt, MemoryUse()).add_call(use, self.times)
            if concurrent or stmt in callee.unplannable:
                self.unplannable.add(stmt)

    def _touch(self, memory: Memory, start: int, stop: int) -> None:
        self.current.touch(memory, start, stop)
        for loop in self.loops:
            loop.touched.add(memory)
