"""Functions of windows of time that are given the new rows compute what they do of all rows."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import IRModule

from support.relax_vm import compiled
from support.sliding_networks import CHANNELS, ROWS, SHAPE, Network
from usmp.objects.state_info import StateInfo
from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.relax.windows.keep_windows import kept_tensors, with_kept_windows
from usmp.relax.windows.slides import computed_rows, input_slide, kept_rows, slides_of


class Sliding(Network):
    """A network that is given the new rows of its window."""

    def slides(self, hop: int):
        return slides_of(self.mod, self.main, {self.x: input_slide(self.x, hop)})

    def sliding(self, hop: int) -> IRModule:
        found = self.slides(hop)
        initial = {}
        for var in kept_tensors(found):
            shape = list(shape_of(var))
            shape[found.slides[var].axis] = 1
            initial[var] = np.zeros(shape, str(var.ty.dtype))
        return with_kept_windows(self.mod, self.main, found, initial)


def valid(n: Sliding, x):
    """Rows of the middle beside a convolution, which a dilated one reads."""
    y = n.taps(x)
    summed = n.emit(relax.op.add(y, n.rows(x, 1, 11)))
    return [n.greatest(n.taps(summed, dilation=2)), n.taps(y)]


def padded(n: Sliding, x):
    """Rows at both ends depend on padding, which the second pool and the slices read."""
    y = n.pool(x, 3, 1, 1, 1)
    z = n.pool(y, 3, 1, 2, 0)
    return [
        n.greatest(z),
        n.rows(y, 0, 1),
        n.rows(y, 0, 12),
        n.rows(z, 10, 12),
        n.pool(y, 2, 2, 1, 1),
    ]


def averaged(n: Sliding, x):
    y = n.pool(x, 4, 2, 1, 1, quantized.average_pool)
    return [n.pool(y, 2, 1, 0, 0), n.greatest(y)]


def moved(n: Sliding, x):
    """Operators of Relax that keep rows: views, other axes, types, and parts of channels."""
    turned = n.emit(relax.op.permute_dims(x, [0, 3, 1, 2]))
    flat = n.emit(relax.op.reshape(x, (ROWS, 3 * CHANNELS)))
    wide = n.emit(relax.op.concat([flat, flat], 1))
    part = n.emit(relax.op.strided_slice(wide, [0, -1], [2, 1], [11, 5]))
    joined = n.emit(relax.op.concat([n.taps(x), n.rows(x, 2, 12)], 3))
    return [
        n.emit(relax.op.negative(n.rows(turned, 3, 12, axis=2))),
        n.emit(relax.op.add(part, n.emit(relax.op.clip(part, -5, 5)))),
        n.greatest(joined),
    ]


def strided(n: Sliding, x):
    y = n.rows(x, 1, 12, 2)
    z = n.taps(x, stride=2)
    return [n.taps(y), n.greatest(z), n.emit(relax.op.add(n.rows(y, 0, 5), z))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "hop"),
    [(valid, 1), (valid, 4), (padded, 2), (averaged, 2), (moved, 3), (strided, 2), (strided, 4)],
)
def test_each_run_computes_what_it_would_of_all_rows(make, hop):
    network = Sliding(make)
    whole, sliding = network.mod, network.sliding(hop)
    count = len(whole["main"].body.body.fields)
    states = [
        np.zeros(shape_of(param), str(param.ty.dtype)) for param in sliding["main"].params[1:]
    ]
    assert states
    run_whole, run_sliding = (compiled(relax.transform.LegalizeOps()(m)) for m in (whole, sliding))
    random = np.random.default_rng(0)
    window = np.zeros(SHAPE, np.int8)
    for number in range(2 * ROWS // hop + 2):
        new = random.integers(-128, 128, (1, hop, *SHAPE[2:])).astype(np.int8)
        window = np.concatenate([window, new], 1)[:, -ROWS:]
        results = run_sliding(new, *states)
        states = [np.ascontiguousarray(each) for each in results[count:]]
        if number * hop >= 2 * ROWS:
            expected = run_whole(np.ascontiguousarray(window))
            assert [e.tolist() for e in results[:count]] == [e.tolist() for e in expected]


def names(network: Sliding, hop: int) -> dict[str, tuple]:
    """By tensor: the rows that move, those kept, and those computed."""
    found = network.slides(hop)
    return {
        var.name: (
            (slide.rows, slide.shift, slide.alike),
            kept_rows(found, var),
            computed_rows(found, var),
        )
        for var, slide in found.slides.items()
    }


def test_rows_that_are_kept_and_computed():
    network = Sliding(lambda n, x: [n.greatest(n.taps(n.taps(x)))])
    assert names(network, 2) == {
        "x": ((12, 2, (0, 12)), (8, 10), [(10, 12)]),
        "lv": ((10, 2, (0, 10)), (6, 8), [(8, 10)]),
        "lv1": ((8, 2, (0, 8)), (0, 6), [(6, 8)]),
    }
    sliding = network.sliding(2)["main"]
    assert [(p.name, shape_of(p)[1]) for p in sliding.params] == [
        ("x", 2),
        ("x_window", 2),
        ("lv_window", 2),
        ("lv1_window", 6),
    ]
    assert [(s.name, s.output) for s in sliding.attrs["states"]] == [
        ("x_window", 1),
        ("lv_window", 2),
        ("lv1_window", 3),
    ]


def test_rows_that_padding_has_a_part_in_are_computed_each_time():
    network = Sliding(lambda n, x: [n.greatest(n.pool(x, 3, 1, 1, 1))])
    assert names(network, 2) == {
        "x": ((12, 2, (0, 12)), (0, 10), [(10, 12)]),
        "lv": ((12, 2, (1, 11)), (1, 9), [(0, 1), (9, 12)]),
    }


def test_rows_that_nothing_reads_are_not_computed():
    network = Sliding(lambda n, x: [n.rows(n.pool(x, 3, 1, 1, 1), 2, 11)])
    found = names(network, 2)
    assert found["lv"] == ((12, 2, (1, 11)), (9, 9), [(9, 11)])


def test_attributes_of_the_function_stay():
    network = Sliding(lambda n, x: [n.taps(x)], num_input=1, kept="kept")
    attrs = network.sliding(2)["main"].attrs
    assert (int(attrs["num_input"]), attrs["kept"]) == (3, "kept")


def test_windows_start_with_the_rows_that_are_given():
    network = Sliding(lambda n, x: [n.taps(x)])
    found = network.slides(2)
    initial = {var: np.arange(6, dtype=np.int8).reshape(1, 1, 3, 2) for var in kept_tensors(found)}
    alike = {var: np.full((1, 1, 3, 2), 7, np.int8) for var in kept_tensors(found)}
    for values, expected in ((initial, [[*range(6)]] * 2), (alike, 7)):
        first, *_ = with_kept_windows(network.mod, network.main, found, values)["main"].attrs[
            "states"
        ]
        value = first.initial_value.numpy()
        assert (value if value.ndim == 0 else value.reshape(2, 6)).tolist() == expected


def test_states_of_the_function_stay_states():
    network = Sliding(lambda n, x: [n.taps(x)])
    state = StateInfo("h", 1, tvm.runtime.tensor(np.zeros((), np.int8)))
    h = relax.Var("h", relax.TensorType((4,), "int8"))
    builder = relax.BlockBuilder(network.mod)
    with builder.function("other", [network.x, h], {"states": [state]}):
        y = builder.emit(network.main.body.blocks[0].bindings[0].value)
        builder.emit_func_output(relax.Tuple([y, builder.emit(relax.op.negative(h))]))
    main = builder.get()["other"]
    mod = IRModule(network.mod.functions)
    mod.update_func(mod.get_global_var("main"), main)
    found = slides_of(mod, main, {main.params[0]: input_slide(main.params[0], 2)})
    zeros = {var: np.zeros((1, 1, 3, 2), np.int8) for var in kept_tensors(found)}
    sliding = with_kept_windows(mod, main, found, zeros)["main"]
    assert [(s.name, s.output) for s in sliding.attrs["states"]][:2] == [("h", 1), ("x_window", 2)]
    assert [p.name for p in sliding.params][:3] == ["x", "h", "x_window"]
