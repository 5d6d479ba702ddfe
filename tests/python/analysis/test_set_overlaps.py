"""Which buffers may overwrite which, as the algorithms are told."""

from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from buffer_views import TARGET
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
