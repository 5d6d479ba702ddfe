"""Which buffers may overwrite which, as the algorithms are told."""

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.buffer_views import TARGET
from usmp.analysis import extract_buffer_info
from usmp.transform import AssignPoolInfo


def test_preserved_inputs_live_to_the_end_and_nobody_overwrites_them():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
            a = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
            for i in range(4):
                a[i] = x[i]
            for i in range(4):
                y[i] = a[i]

    def found(**options):
        mod = AssignPoolInfo()(tirx.transform.BindTarget(TARGET)(Mod))
        infos = extract_buffer_info(mod["__tvm_main__"], mod, **options).buffer_info_stmts
        return {
            info.name_hint: (
                [(r.start, r.stop) for r in info.live_ranges],
                {other.name_hint: distance for other, distance in info.overlaps.items()},
            )
            for info in infos
        }

    (end,) = {stop for ((_, stop),), _ in [found()["y"]]}
    ((_, dead),), _ = found()["x"]
    assert dead < end
    assert found()["x"] == ([(0, dead)], {})
    assert found(preserve_inputs=True)["x"] == ([(0, end)], {})
    assert [overlaps for _, overlaps in found().values()] == [{}, {"x": 0}, {"a": 0}]
    assert [o for _, o in found(preserve_inputs=True).values()] == [{}, {}, {"a": 0}]
    assert [o for _, o in found(overlap=False).values()] == [{}, {}, {}]


def overlaps(mod, **options):
    """Name of each buffer that may overwrite others -> their names, with the distance in bytes."""
    mod = AssignPoolInfo()(tirx.transform.BindTarget(TARGET)(mod))
    infos = extract_buffer_info(mod["__tvm_main__"], mod, **options).buffer_info_stmts
    return {
        info.name_hint: {other.name_hint: distance for other, distance in info.overlaps.items()}
        for info in infos
        if info.overlaps
    }


def test_a_residual_sum_overwrites_either_operand():
    @I.ir_module
    class Mod:
        @T.prim_func
        def shift(p: T.handle("int8"), q: T.handle("int8")):
            P = T.decl_buffer((64,), "int8", data=p)
            Q = T.decl_buffer((64,), "int8", data=q)
            for i in range(64):
                Q[i] = P[T.max(i - 5, 0)]

        @T.prim_func
        def add(p: T.handle("int8"), q: T.handle("int8"), r: T.handle("int8")):
            P = T.decl_buffer((64,), "int8", data=p)
            Q = T.decl_buffer((64,), "int8", data=q)
            R = T.decl_buffer((64,), "int8", data=r)
            for i in range(64):
                R[i] = P[i] + Q[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            skip = T.alloc_buffer((64,), "int8")
            branch = T.alloc_buffer((64,), "int8")
            total = T.alloc_buffer((64,), "int8")
            Mod.shift(x, skip.data)
            Mod.shift(skip.data, branch.data)
            Mod.add(skip.data, branch.data, total.data)
            Mod.shift(total.data, y)

    # The branch is written while the skip connection lives on.
    assert overlaps(Mod) == {"total": {"skip": 0, "branch": 0}}
    assert overlaps(Mod, overlap=False) == {}


def test_scratch_of_an_operator_that_is_called_twice():
    """What one call leaves, the other must find: only what holds of both calls is safe."""

    @I.ir_module
    class Mod:
        @T.prim_func
        def op(p: T.handle("int8"), q: T.handle("int8")):
            P = T.decl_buffer((16,), "int8", data=p)
            Q = T.decl_buffer((16,), "int8", data=q)
            scratch = T.alloc_buffer((16,), "int8")
            for i in range(16):
                scratch[i] = P[i]
            for i in range(16):
                Q[i] = scratch[i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
            a = T.alloc_buffer((16,), "int8")
            b = T.alloc_buffer((16,), "int8")
            Mod.op(x, a.data)
            Mod.op(a.data, b.data)
            Mod.op(b.data, y)

    # The scratch of the second call is written while `a` is read, and `b` while the scratch is. But
    # `a` is written while the scratch of the first call is read, and read after that is written.
    assert overlaps(Mod) == {}


def test_what_is_kept_shares_nothing():
    @I.ir_module
    class Mod:
        @T.prim_func
        def __tvm_main__():
            x = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "x"})
            state = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "state"})
            always = T.alloc_buffer((4,), "int8", annotations={"live_throughout": True})
            a = T.alloc_buffer((4,), "int8")
            y = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "y"})
            for i in range(4):
                state[i] = x[i]
            for i in range(4):
                always[i] = state[i]
            for i in range(4):
                a[i] = always[i]
            for i in range(4):
                y[i] = a[i]

    assert overlaps(Mod) == {"y": {"a": 0}}
