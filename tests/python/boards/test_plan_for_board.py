"""What a user reads when a model does not fit a board."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tvm import relax

import usmp
from support.placement_graphs import pool
from support.planner_contexts import planner_context
from support.small_digits import small_convolutions
from usmp.algorithms import DoesNotFitError, get_algorithm
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects import BufferInfo, LiveRange

pytestmark = pytest.mark.usefixtures("one_session")


def element_wise(elements: int, constant: bool = False):
    """A model with an input and an output of as many floats, perhaps a constant too."""
    x = relax.Var("x", relax.TensorType((1, elements), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            if constant:
                weights = relax.const(np.arange(elements, dtype=np.float32))
                result = builder.emit_output(relax.op.add(x, weights))
            else:
                result = builder.emit_output(relax.op.add(x, x))
        builder.emit_func_output(result)
    return builder.get()


def refusal(mod, board, **pools) -> str:
    with pytest.raises(ValueError) as error:
        usmp.build(mod, board=board, **pools)
    return str(error.value)


def workspace(*names):
    pools = [usmp.WorkspacePoolInfo(name, ["c"]) for name in names]
    return usmp.WorkspaceMemoryPools(pools)


def test_a_workspace_that_does_not_fit():
    text = refusal(element_wise(1 << 20), "mps2-an385", workspace_memory_pools=workspace("sram"))
    assert re.fullmatch(
        r"the model does not fit board mps2-an385: the model needs at least 4194304 bytes, but "
        r"there are 4176896\. The largest buffer is (x|output) \(at least 4194304 bytes\)\nsram "
        r"\(4194304 bytes at 0x20000000\) has 4176896 bytes for pools, at least 17408 too few\n"
        r"Choose other memories or a smaller model\. To learn how many bytes are enough, compile "
        r"without a board",
        text,
    )


@pytest.mark.slow
def test_what_one_memory_lacks_another_has():
    factory = usmp.build(element_wise(1 << 20), board="mps2-an385")
    assert {pool.name for pool in factory.interface.pools} == {"psram"}


def test_a_model_whose_copies_and_orders_were_compared():
    """None of the plans that were compared fits; the words are the board's in any case."""
    x = relax.Var("x", relax.TensorType((2, 1 << 20), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            halves = [
                relax.op.nn.softmax(relax.op.strided_slice(x, [0], [row], [row + 1], [1]))
                for row in range(2)
            ]
            parts = [builder.emit(half) for half in map(builder.emit, halves)]
            result = builder.emit_output(relax.op.concat(parts[::-1], 0))
        builder.emit_func_output(result)
    text = refusal(builder.get(), "mps2-an385", workspace_memory_pools=workspace("sram"))
    assert text.startswith("the model does not fit board mps2-an385: the model needs at least ")


def test_constants_that_do_not_fit():
    text = refusal(element_wise(1 << 20, constant=True), "mps2-an385")
    assert re.fullmatch(
        r"the model does not fit board mps2-an385: the constants need at least 4194304 bytes, but "
        r"there are 4063232\. The largest buffer is \w+ \(at least 4194304 bytes\)\nflash "
        r"\(4194304 bytes at 0x00000000\) has 4063232 bytes for pools, at least 131072 too few\n"
        r"Choose other memories or a smaller model\. To learn how many bytes are enough, compile "
        r"without a board",
        text,
    )


def test_a_size_hint_of_the_user_counts_too():
    properties = usmp.PoolInfoProperties(size_hint_bytes=1000)
    pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("dtcm", ["c"], properties)])
    text = refusal(element_wise(1000), "mps3-an547", workspace_memory_pools=pools)
    assert "dtcm (524288 bytes at 0x20000000) has 1000 bytes for pools" in text


@pytest.fixture(scope="module")
def convolutions():
    return import_tflite(small_convolutions())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, 272),
        ({"algorithm": "exact"}, 272),
        ({"time_budget": "1min"}, 272),
        ({"disabled_pass": ("StreamOperators",)}, 400),
        ({"algorithm": "greedy_by_size", "disabled_pass": ("StreamOperators",)}, 448),
        ({"custom_algorithm": "greedy_by_conflicts", "disabled_pass": ("StreamOperators",)}, 448),
        ({"algorithm": "no_sharing"}, 832),
    ],
    ids=str,
)
def test_the_bytes_that_it_would_take_are_those_of_the_chosen_algorithm(
    convolutions, options, needed
):
    properties = usmp.PoolInfoProperties(size_hint_bytes=260)
    pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", ["c"], properties)])
    with planner_context(options):
        text = refusal(convolutions, "mps2-an385", workspace_memory_pools=pools)
    assert f"has 260 bytes for pools, {needed - 260} too few\n" in text
    assert f"With enough memory it would take {needed} bytes of sram" in text


@pytest.mark.slow
def test_the_error_has_the_sizes(convolutions):
    properties = usmp.PoolInfoProperties(size_hint_bytes=260)
    pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", ["c"], properties)])
    with pytest.raises(DoesNotFitError) as raised:
        usmp.build(convolutions, board="mps2-an385", workspace_memory_pools=pools)
    error = raised.value
    assert (error.needed_bytes, error.available_bytes, error.is_exact) == (272, 260, True)
    assert error.smallest_pool_bytes == {"sram": 272}
    assert "12 too few" in str(error)


def test_other_errors_stay_what_they_are():
    pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("dtcm", ["npu"])])
    text = refusal(element_wise(1000), "mps3-an547", workspace_memory_pools=pools)
    assert not text.startswith("the model does not fit")


@pytest.mark.parametrize(
    "name", ['a "b" (3 bytes', "two\nlines", '1 for pool "sram"', "x (9 bytes, alignment 1)"]
)
def test_names_of_buffers_may_be_anything(name):
    """The words for the board come from data, not from what another message says of it."""
    live = [LiveRange(0, 1)]
    huge = BufferInfo(name, 100, [pool("sram", 64)], live_ranges=live)
    small = BufferInfo("small", 8, [pool("sram", 64)])
    with pytest.raises(DoesNotFitError) as raised:
        get_algorithm("auto")([huge, small], 0)
    assert str(raised.value.for_board("mine", "memory {}".format)) == (
        f'the model does not fit board mine: no space for buffer "{name}" (100 bytes)\nmemory sram '
        "has 64 bytes for pools, 36 too few\nWith enough memory it would take 100 bytes of sram, "
        f"the largest of them {name} (100)\nChoose other memories, a smaller model, or another "
        "tir.usmp.algorithm"
    )
