"""Random programs give the same results planned as with every buffer in memory of its own."""

import tvm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType

from tir_interpreter import Interpreter, Pointer
from usmp.objects import Executor
from usmp.objects.attributes import EXECUTOR_ATTR, POOL_ARGS_ATTR
from usmp.transform import UnifiedStaticMemoryPlanner

TARGET = tvm.target.Target("c")
ELEMENTS = 4
POISON = 0xA5


def int8(value):
    return tirx.const(value, "int8")


def block(stmts):
    return tirx.SeqStmt(stmts) if len(stmts) > 1 else stmts[0]


class Generator:
    """Draws the body of one PrimFunc, statement by statement.

    `ready` are the buffers in scope that hold values, `fresh` those that were never written; only
    the former are read, so that every program has one meaning. `output` is where results go, and
    `budget` bounds the number of statements.
    """

    def __init__(self, random, prefix, callees, output):
        self.random = random
        self.prefix = prefix
        self.callees = callees
        self.budget = random.randint(4, 16)
        self.output = output
        self.count = 0

    def name(self, kind):
        self.count += 1
        return f"{self.prefix}_{kind}{self.count}"

    def buffer(self, kind, elements):
        return tirx.decl_buffer((elements,), "int8", self.name(kind))

    def one_of(self, choices):
        return self.random.choice(choices)

    def element(self, buffer):
        return self.random.randint(0, int(buffer.shape[0]) - 1)

    def load(self, buffers):
        buffer = self.one_of(buffers)
        return buffer[self.element(buffer)]

    def fill(self, buffer, buffers):
        """Write every element of `buffer`."""
        source = self.one_of(buffers)
        index = tirx.Var(self.name("i"), "int32")
        last = int(source.shape[0]) - 1
        value = source[index] if last >= int(buffer.shape[0]) - 1 else source[last]
        store = tirx.BufferStore(buffer, value + int8(self.random.randint(1, 9)), [index])
        return tirx.For(index, 0, buffer.shape[0], tirx.ForKind.SERIAL, store)

    def pointer(self, buffer, stmts):
        """The address of `buffer`, in one of the ways to say it."""
        way = self.random.randint(0, 2)
        if way == 0:
            return buffer.data
        if way == 1:
            return tirx.address_of(buffer[0])
        variable = tirx.Var(self.name("p"), PointerType(PrimType("int8")))
        stmts.append(tirx.Bind(variable, buffer.data))
        return variable

    def statements(self, ready, fresh, depth):
        """A block of statements."""
        ready, fresh = list(ready), list(fresh)
        stmts = []
        for _ in range(self.random.randint(1, 6)):
            if self.budget <= 0:
                break
            self.budget -= 1
            kinds = ["allocate", "allocate", "store", "fill", "view", "call", "value"]
            if fresh:
                kinds += ["first", "first"]
            if depth < 3:
                kinds += ["loop", "loop", "while", "branch"]
            getattr(self, f"add_{self.one_of(kinds)}")(stmts, ready, fresh, depth)
        stmts += [self.observe(ready) for _ in range(self.random.randint(not stmts, 2))]
        return block(stmts)

    def observe(self, ready):
        """Let a value count for the result."""
        index = self.element(self.output)
        value = self.output[index] * int8(3) + self.load(ready)
        return tirx.BufferStore(self.output, value, [index])

    def add_allocate(self, stmts, ready, fresh, depth):
        buffer = self.buffer("t", self.random.randint(ELEMENTS, 3 * ELEMENTS))
        stmts.append(tirx.AllocBuffer(buffer))
        if self.random.random() < 0.5:
            stmts.append(self.fill(buffer, ready))
            ready.append(buffer)
        else:
            fresh.append(buffer)

    def add_first(self, stmts, ready, fresh, depth):
        buffer = fresh.pop(self.random.randint(0, len(fresh) - 1))
        stmts.append(self.fill(buffer, ready))
        ready.append(buffer)

    def add_store(self, stmts, ready, fresh, depth):
        buffer = self.one_of(ready)
        value = self.load(ready) * int8(3) + self.load(ready)
        stmts.append(tirx.BufferStore(buffer, value, [self.element(buffer)]))

    def add_fill(self, stmts, ready, fresh, depth):
        stmts.append(self.fill(self.one_of(ready), ready))

    def add_view(self, stmts, ready, fresh, depth):
        source = self.one_of(ready)
        offset = self.random.randint(0, int(source.shape[0]) - ELEMENTS)
        view = self.buffer("v", ELEMENTS)
        data = tirx.address_of(source[offset]) if offset else self.pointer(source, stmts)
        stmts.append(tirx.DeclBuffer(view, data=data))
        ready.append(view)

    def add_call(self, stmts, ready, fresh, depth):
        if not self.callees["writes"]:
            return self.add_store(stmts, ready, fresh, depth)
        source, destination = self.one_of(ready), self.one_of(ready + fresh)
        if destination in fresh:
            stmts.append(self.fill(destination, ready))
            fresh.remove(destination)
            ready.append(destination)
        arguments = [self.pointer(buffer, stmts) for buffer in (source, destination)]
        callee = self.one_of(self.callees["writes"])
        stmts.append(tirx.Evaluate(Call(callee, arguments, ret_ty=tvm.ir.TupleType([]))))

    def add_value(self, stmts, ready, fresh, depth):
        if not self.callees["returns"]:
            return self.add_store(stmts, ready, fresh, depth)
        value = self.load(ready)
        for _ in range(self.random.randint(1, 2)):
            argument = self.pointer(self.one_of(ready), stmts)
            value = self.result(argument, self.load(ready)) + value
        buffer = self.one_of(ready)
        stmts.append(tirx.BufferStore(buffer, value, [self.element(buffer)]))

    def result(self, argument, number):
        return Call(
            self.one_of(self.callees["returns"]), [argument, number], ret_ty=PrimType("int8")
        )

    def add_loop(self, stmts, ready, fresh, depth):
        index = tirx.Var(self.name("i"), "int32")
        body = self.statements(ready, fresh, depth + 1)
        stmts.append(tirx.For(index, 0, self.random.randint(1, 3), tirx.ForKind.SERIAL, body))

    def add_while(self, stmts, ready, fresh, depth):
        count = self.buffer("n", 1)
        body = self.statements(ready, fresh, depth + 1)
        step = tirx.BufferStore(count, count[0] + int8(1), [0])
        stmts += [
            tirx.AllocBuffer(count),
            tirx.BufferStore(count, int8(0), [0]),
            tirx.While(count[0] < int8(self.random.randint(1, 3)), block([body, step])),
        ]

    def add_branch(self, stmts, ready, fresh, depth):
        condition = self.load(ready) > int8(self.random.randint(-50, 50))
        yes = self.statements(ready, fresh, depth + 1)
        no = self.statements(ready, fresh, depth + 1) if self.random.random() < 0.5 else None
        stmts.append(tirx.IfThenElse(condition, yes, no))


def parameters(prefix, names):
    """Pointers to ELEMENTS bytes each, views of them, and the declarations of the views."""
    pointers = [tirx.Var(f"{prefix}_{name}", PointerType(PrimType("int8"))) for name in names]
    views = [tirx.decl_buffer((ELEMENTS,), "int8", f"{p.name}_view") for p in pointers]
    return (
        pointers,
        views,
        [tirx.DeclBuffer(v, data=p) for v, p in zip(views, pointers, strict=True)],
    )


def procedure(random, prefix, callees, names):
    """A PrimFunc that reads and writes the memory that it is given."""
    pointers, views, stmts = parameters(prefix, names)
    generator = Generator(random, prefix, callees, output=views[-1])
    return tirx.PrimFunc(pointers, block([*stmts, generator.statements(views, [], 0)]))


def function(random, prefix, callees):
    """A PrimFunc that returns a value and writes nothing but memory of its own, so that it does
    not matter in which order an expression calls it."""
    pointers, views, stmts = parameters(prefix, "a")
    number = tirx.Var(f"{prefix}_number", "int8")
    own = tirx.decl_buffer((ELEMENTS,), "int8", f"{prefix}_own")
    generator = Generator(random, prefix, callees, output=own)
    stmts += [tirx.AllocBuffer(own), generator.fill(own, views)]
    stmts.append(tirx.BufferStore(own, own[0] + number, [0]))
    stmts.append(generator.statements([own], [], 1))
    stmts.append(tirx.Return(own[0] * int8(5) + own[ELEMENTS - 1]))
    return tirx.PrimFunc([*pointers, number], block(stmts), PrimType("int8"))


def program(random):
    """`__tvm_main__(x, y)` and up to four functions; each calls only those before it."""
    functions = {}
    callees = {"writes": [], "returns": []}
    for number in range(random.randint(0, 4)):
        kind = random.choice(["writes", "returns"])
        variable = GlobalVar(f"f{number}")
        known = {key: list(found) for key, found in callees.items()}
        if kind == "returns":
            functions[variable] = function(random, f"f{number}", known)
        else:
            functions[variable] = procedure(random, f"f{number}", known, "ab")
        callees[kind].append(variable)
    functions[GlobalVar("__tvm_main__")] = procedure(random, "main", callees, "xy")
    mod = IRModule(functions).with_attr(
        EXECUTOR_ATTR, Executor("aot", {"workspace-byte-alignment": 1})
    )
    return tirx.transform.BindTarget(TARGET)(mod)


def results(mod, right_to_left=False):
    """What is in x and y after a run from poisoned pools."""
    x = Pointer([7, 250, 13, 64])
    y = Pointer([1, 2, 3, 4])
    pools = [
        Pointer([POISON] * arg.allocated_size) for arg in (mod.attrs or {}).get(POOL_ARGS_ATTR, [])
    ]
    Interpreter(mod, right_to_left).call("__tvm_main__", [x, y, *pools])
    return x.memory, y.memory


def plan(mod, algorithm):
    with tvm.transform.PassContext(config={"tir.usmp.algorithm": algorithm}):
        planned = UnifiedStaticMemoryPlanner()(mod)
    assert tirx.analysis.verify_well_formed(planned)
    return planned


@given(st.randoms(use_true_random=True))
@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
def test_planned_programs_compute_the_same(random):
    mod = program(random)
    expected = results(mod)
    assert results(mod, right_to_left=True) == expected
    for algorithm in ("no_sharing", "greedy_by_size", "greedy_by_conflicts"):
        planned = plan(mod, algorithm)
        assert results(planned) == expected
        assert results(planned, right_to_left=True) == expected
