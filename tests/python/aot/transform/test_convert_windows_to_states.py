"""ConvertWindowsToStates: what is kept, what it holds at first, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from support.filecheck_files import module_of
from support.sliding_networks import SHAPE, Network
from usmp.aot.transform import ConvertWindowsToStates
from usmp.objects.state_info import StateInfo
from usmp.ops import quantized


def converted(mod: IRModule, *inputs: str) -> IRModule:
    with PassContext(config={"tir.usmp.stream_inputs": list(inputs)}):
        return ConvertWindowsToStates()(mod)


def initial(mod: IRModule) -> dict[str, object]:
    """By state, what it holds at first; one number if all elements are alike."""
    return {
        str(state.name): state.initial_value.numpy().tolist()
        for state in mod["main"].attrs["states"]
    }


def with_attrs(mod: IRModule, **attrs) -> IRModule:
    main = mod["main"].with_attrs(attrs)
    return IRModule({**dict(mod.functions.items()), mod.get_global_var("main"): main})


def test_without_hops_a_module_stays_as_it_is():
    mod = Network(lambda n, x: [n.taps(x)]).mod
    assert converted(mod).same_as(mod)
    assert converted(mod, "x").same_as(mod)


def test_the_module_says_what_a_run_is_given_and_computes():
    mod = converted(module_of("convert_windows_to_states"), "x:hop=2")
    said = dict(mod.attrs["windows"])
    assert {name: dict(rows) for name, rows in said.pop("inputs").items()} == {
        "x": {"rows": 2, "window_rows": 6}
    }
    assert {name: dict(state) for name, state in said.pop("states").items()} == {
        "x_window": {"tensor": "x", "rows": 2},
        "lv_window": {"tensor": "lv", "rows": 2},
    }
    assert said == {
        "state_size_bytes": 4,
        # Three multiplications a row.
        "macs": 2 * 3,
        "window_macs": 4 * 3,
        "whole": ["reduce_max"],
    }
    # The convolution makes its bias of rows of zeros.
    assert initial(mod) == {"x_window": 0, "lv_window": 5}


@pytest.mark.slow
def test_bytes_of_states_are_those_of_their_elements():
    def make(n, x):
        return [n.greatest(n.taps(n.emit(relax.op.astype(n.pool(x, 3, 1, 0, 0), "int32"))))]

    said = converted(Network(make).mod, "x:hop=2").attrs["windows"]
    # Two rows of x, as many of what the convolution reads in int32, and six of its int8.
    assert said["state_size_bytes"] == (2 * 1 + 2 * 4 + 6 * 1) * 6
    assert dict(said["inputs"]["x"]) == {"rows": 2, "window_rows": 12}


@pytest.mark.slow
def test_windows_start_as_if_all_rows_had_been_zero_points():
    row = np.arange(2, dtype=np.int8).reshape(1, 1, 1, 2)

    def make(n, x):
        constant = n.emit(relax.const(row))
        y = n.emit(relax.op.add(n.pool(x, 3, 1, 1, 1), constant))
        return [n.taps(y), n.greatest(n.pool(y, 2, 1, 0, 0, quantized.average_pool))]

    mod = with_attrs(Network(make).mod, input_quantization={"x": [0.5, -5]})
    values = initial(converted(mod, "x:hop=2"))
    assert values["x_window"] == -5
    kept = [np.array(values[name]) for name in values if name != "x_window"]
    rows = [0 if each.ndim == 0 else each.reshape(-1, 2)[-1].tolist() for each in kept]
    assert rows == [[-5, -4], 0, [-5, -4]]
    unquantized = initial(converted(Network(make).mod, "x:hop=2"))
    assert unquantized["x_window"] == 0


@pytest.mark.parametrize(
    ("make", "inputs", "message"),
    [
        (lambda n, x: [n.taps(x)], ["y:hop=1"], 'the model has no input "y". Its inputs: x'),
        (lambda n, x: [n.taps(x)], ["x:hop=12"], "is a window of 12 rows, so that a hop of 12"),
        (lambda n, x: [n.taps(x)], ["x:hop=13"], "give less than 12 rows"),
        (
            lambda n, x: [n.taps(x, stride=2)],
            ["x:hop=3"],
            r'input "x": taps takes its rows in steps of 2.* give another hop',
        ),
        (
            lambda n, x: [n.greatest(x)],
            ["x:hop=1"],
            'input "x": the whole window of 12 rows is needed by reduce_max, so that nothing',
        ),
        (
            lambda n, x: [n.emit(relax.op.max(n.emit(relax.op.astype(x, "float32")), axis=1))],
            ["x:hop=1"],
            'input "x": max computes in float, and only results of quantized operators are kept',
        ),
        # What computes each row from one saves nothing.
        (
            lambda n, x: [n.greatest(n.emit(relax.op.negative(x)))],
            ["x:hop=1"],
            "is needed by reduce_max, so that nothing",
        ),
        (
            lambda n, x: [n.greatest(x), n.emit(relax.op.negative(x))],
            ["x:hop=1"],
            "is needed by reduce_max, so that nothing",
        ),
        (lambda n, x: [n.emit(relax.op.negative(x))], ["x:hop=1"], "needed by the output, so"),
    ],
)
def test_windows_that_save_nothing_are_refused(make, inputs, message):
    with pytest.raises(ValueError, match=message):
        converted(Network(make).mod, *inputs)


def test_windows_may_be_as_long_as_all_but_one_row():
    mod = converted(Network(lambda n, x: [n.taps(x)]).mod, "x:hop=9")
    assert [int(p.ty.shape[1]) for p in mod["main"].params] == [9, 2, 1]


def main_of(*params: relax.Var, attrs=None) -> IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", list(params), attrs):
        with builder.dataflow():
            results = [builder.emit_output(relax.op.negative(param)) for param in params]
        builder.emit_func_output(relax.Tuple(results))
    return builder.get()


def test_a_window_has_rows():
    x = relax.Var("x", relax.TensorType((1, 1), "int8"))
    with pytest.raises(ValueError, match="has one row only"):
        converted(main_of(x), "x:hop=1")


def test_a_window_has_a_fixed_shape():
    x = relax.Var("x", relax.TensorType((tirx.Var("n", "int64"), 2), "int8"))
    with pytest.raises(ValueError, match="windows of time have fixed shapes"):
        converted(main_of(x), "x:hop=1")


def test_states_are_no_windows():
    x, s = (relax.Var(name, relax.TensorType(SHAPE, "int8")) for name in ("x", "s"))
    state = StateInfo("s", 1, tvm.runtime.tensor(np.zeros((), np.int8)))
    with pytest.raises(ValueError, match=r'the model has no input "s". Its inputs: x$'):
        converted(main_of(x, s, attrs={"states": [state]}), "s:hop=1")
