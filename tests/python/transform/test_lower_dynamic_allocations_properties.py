"""Random programs after `LowerDynamicAllocations`: whatever fails, blocks are a stack, and each
buffer has a block of its own while it is in use."""

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import Call, IRModule, Var
from tvm.tirx import IntImm

from support.levels import number
from usmp.tir.dtypes import item_bytes
from usmp.tir.intrinsics import size_function
from usmp.transform import LowerDynamicAllocations

pytestmark = pytest.mark.property

_OPERATORS = {
    tirx.Add: operator.add,
    tirx.Mul: operator.mul,
    tirx.GE: operator.ge,
    tirx.LE: operator.le,
    tirx.NE: operator.ne,
    tirx.And: lambda a, b: a and b,
}


_FUNCTIONS = {size_function("add"): operator.add, size_function("multiply"): operator.mul}


class Ended(Exception):
    """The program returned this status."""


class Machine:
    """Runs a lowered main function, of which an allocation may fail."""

    def __init__(self, values, fails_at):
        self.values, self.fails_at = dict(values), fails_at
        self.stack, self.allocated, self.used = [], 0, []
        self.blocks = {}
        """Buffer to its block."""
        self.owners = {}
        """Block to the buffer that may use it, and its bytes."""

    def number(self, expr):
        if isinstance(expr, IntImm):
            return int(expr)
        if isinstance(expr, Var):
            return self.values[expr]
        if isinstance(expr, tirx.Cast):
            return self.number(expr.value)
        if type(expr) in _OPERATORS:
            return _OPERATORS[type(expr)](self.number(expr.a), self.number(expr.b))
        assert isinstance(expr, Call)
        if expr.op.name == "prim.if_then_else":
            return self.number(expr.args[1 if self.number(expr.args[0]) else 2])
        if expr.op.name == "tirx.call_pure_extern":
            function, *operands = expr.args
            return _FUNCTIONS[function.value](*map(self.number, operands))
        assert expr.op.name == "tirx.isnullptr"
        return self.values[expr.args[0]] is None

    def run(self, stmt):
        for child in tirx.stmt_list(stmt):
            getattr(self, type(child).__name__)(child)

    def Bind(self, stmt):
        if not (isinstance(stmt.value, Call) and stmt.value.op.name == "tirx.call_extern"):
            self.values[stmt.var] = self.number(stmt.value)
            return
        self.allocated += 1
        if self.allocated == self.fails_at:
            self.values[stmt.var] = None
            return
        block = self.values[stmt.var] = object()
        self.stack.append(block)
        self.owners[block] = None, self.number(stmt.value.args[2])

    def DeclBuffer(self, stmt):
        block = self.values[stmt.data]
        assert block in self.stack
        self.blocks[stmt.buffer] = block
        _, size = self.owners[block]
        self.owners[block] = stmt.buffer, size

    def IfThenElse(self, stmt):
        if self.number(stmt.condition):
            self.run(stmt.then_case)

    def For(self, stmt):
        for value in range(self.number(stmt.extent)):
            self.values[stmt.loop_var] = value
            self.run(stmt.body)

    def Return(self, stmt):
        assert not self.stack
        raise Ended(self.number(stmt.value))

    def Evaluate(self, stmt):
        name, *arguments = stmt.value.args
        if name.value == "usmp_arena_release":
            assert self.stack.pop() is self.values[arguments[1]]
            return
        for argument in arguments:
            buffer = argument.args[0]
            owner, size = self.owners[self.blocks[buffer]]
            assert owner.same_as(buffer)
            assert self.blocks[buffer] in self.stack
            assert size >= self.number(buffer.shape[0]) * item_bytes(str(buffer.dtype))
        self.used.append([argument.args[0].name for argument in arguments])


N, M = tirx.Var("n", "int32"), tirx.Var("m", "int32")
SIZES = st.builds(lambda c, e: e * c, st.integers(1, 4), st.sampled_from([N, M, N * M, N + 1]))
BUFFERS = st.lists(st.tuples(SIZES, st.sampled_from(["int8", "int32"])), min_size=1, max_size=6)


@st.composite
def sequences(draw, outside=(), depth=0):
    """Statements that allocate, and use what they and those around them allocated."""
    own = [
        tirx.decl_buffer((size,), dtype, f"b{depth}{index}_{len(outside)}")
        for index, (size, dtype) in enumerate(draw(BUFFERS))
    ]
    known, statements = [*outside], []
    waiting = list(own)
    for _ in range(draw(st.integers(1, 6))):
        while waiting and draw(st.booleans()):
            known.append(waiting.pop(0))
            statements.append(tirx.AllocBuffer(known[-1]))
        kind = (
            draw(st.sampled_from(["use", "use", "use", "loop", "branch"])) if depth < 2 else "use"
        )
        if kind == "use":
            used = draw(st.lists(st.sampled_from(known), max_size=3)) if known else []
            data = [buffer.data for buffer in used]
            statements.append(tirx.Evaluate(tirx.call_extern("int32", "use", *data)))
            continue
        body = draw(sequences(tuple(known), depth + 1))
        if kind == "loop":
            index = tirx.Var("i", "int32")
            statements.append(tirx.For(index, 0, 2, tirx.ForKind.SERIAL, body))
        else:
            statements.append(tirx.IfThenElse(N >= M, body, None))
    return tirx.SeqStmt(statements) if len(statements) > 1 else statements[0]


def run(main, n, m, fails_at):
    machine = Machine(dict(zip(main.params[:2], (n, m), strict=True)), fails_at)
    with pytest.raises(Ended) as ended:
        machine.run(main.body)
    return ended.value.args[0], machine


@pytest.mark.slow
@settings(max_examples=number(40, in_long_run=400), deadline=None)
@given(body=sequences(), n=st.integers(1, 9), m=st.integers(1, 9))
def test_blocks_are_a_stack_whatever_fails(body, n, m):
    mod = IRModule({"__tvm_main__": tirx.PrimFunc([N, M], body)})
    lowered = LowerDynamicAllocations()(mod)
    if lowered.same_as(mod):
        return
    main = lowered["__tvm_main__"]
    assert tirx.analysis.verify_well_formed(main)
    status, machine = run(main, n, m, fails_at=0)
    assert status == 0
    for fails_at in range(1, machine.allocated + 1):
        status, failed = run(main, n, m, fails_at)
        assert (status, failed.allocated) == (-3, fails_at)
        assert failed.used == machine.used[: len(failed.used)]
