"""Float convolutions of images with channels first, computed with channels last."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir.transform import PassContext

import usmp
from support.qdq_models import between, calls_of, float_outputs, inputs_of, raw_calls_of
from usmp.objects import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes.compared import details_of
from usmp.planning.session import planning_session
from usmp.relax.transform import ConvertImageLayout
from usmp.runtime import HostModule

GENERATOR = np.random.default_rng(24)


def weight(*shape):
    """Constant numbers that keep results near to what they are made of."""
    values = GENERATOR.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
    return relax.const(values.astype(np.float32))


def convolution(builder, x, outputs, size=3, **options):
    """With a bias and a ReLU."""
    channels = int(x.ty.shape[1]) // options.get("groups", 1)
    kernel = weight(outputs, channels, *[size] * (len(x.ty.shape) - 2))
    convolve = getattr(relax.op.nn, f"conv{len(x.ty.shape) - 2}d")
    y = builder.emit(convolve(x, kernel, padding=size // 2, **options))
    bias = weight(1, outputs, *[1] * (len(x.ty.shape) - 2))
    return builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(y, bias))))


def network(builder, x):
    """Depthwise separable convolutions, a branch, groups, a transposed convolution, products."""
    y = convolution(builder, x, 8)
    y = convolution(builder, convolution(builder, y, 8, groups=8), 12, 1)
    y = builder.emit(relax.op.nn.max_pool2d(y, (2, 2), (2, 2)))
    branch = convolution(builder, y, 12, groups=3, dilation=1)
    y = builder.emit(relax.op.concat([branch, builder.emit(relax.op.add(y, branch))], 1))
    y = builder.emit(relax.op.nn.conv2d_transpose(y, weight(24, 4, 2, 2), strides=2))
    y = convolution(builder, y, 6, strides=2)
    rows = builder.emit(relax.op.reshape(y, (1, 6 * 5 * 4)))
    return relax.op.matmul(rows, weight(6 * 5 * 4, 3))


def separable(builder, x):
    """A depthwise convolution, and what is left of another one."""
    y = convolution(builder, convolution(builder, x, 8, groups=8), 4)
    return relax.op.mean(y, [2, 3])


def layouts_of(mod):
    """(data, kernel) of each convolution in `main`."""
    calls = [call for call in raw_calls_of(mod) if "nn.conv" in call.op.name]
    return [(str(call.attrs.data_layout), str(call.attrs.kernel_layout)) for call in calls]


def assert_computes(mod, factory):
    """What is built computes what the operators of `mod` do, in another order."""
    inputs = inputs_of(mod)
    module = HostModule(factory.files(), factory.metadata["modules"]["default"], ["-O1"])
    results = module.run(inputs).values()
    for ours, theirs in zip(results, float_outputs(mod, inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_convolutions_and_what_is_between_them(model, expected, random_array):
    before = model(network, ("x", (1, 3, 10, 8), "float32"))
    after = ConvertImageLayout()(before)
    last = ("NHWC", "HWIO")
    assert layouts_of(after) == [last] * 4 + [("NCHW", "IOHW"), last]
    x = random_array(1, 3, 10, 8)
    (ours,), (theirs,) = expected(after, x), expected(before, x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_images_of_one_dimension(model, expected, random_array):
    def body(builder, x):
        y = convolution(builder, convolution(builder, x, 6), 6, groups=6)
        return relax.op.mean(y, [2])

    before = model(body, ("x", (1, 3, 9), "float32"))
    after = ConvertImageLayout()(before)
    assert layouts_of(after) == [("NWC", "WIO")] * 2
    x = random_array(1, 3, 9)
    (ours,), (theirs,) = expected(after, x), expected(before, x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.cc
def test_less_memory_decides(model):
    """A depthwise convolution with its channels last needs one image, not two."""

    def body(builder, x):
        y = convolution(builder, x, 16)
        y = convolution(builder, convolution(builder, y, 16, groups=16), 16, 1)
        return relax.op.mean(convolution(builder, y, 16, groups=16), [2, 3])

    mod = model(body, ("x", (1, 3, 12, 10), "float32"))
    # Operators as a whole, whose images are easy to count.
    with PassContext(disabled_pass=["StreamOperators"]):
        factory = usmp.build(mod)
    image = 4 * 12 * 10 * 16
    said = factory.metadata["modules"]["default"]["image_layout"]
    assert said["layout"] == "NHWC"
    assert 1.9 * image < said["channels_first_peak_bytes"]
    assert image < said["channels_last_peak_bytes"] < 1.25 * image
    assert factory.interface.workspace_size_bytes == said["channels_last_peak_bytes"]
    assert_computes(mod, factory)


@pytest.mark.slow
def test_one_convolution_is_not_worth_two_copies(model):
    mod = model(lambda builder, x: convolution(builder, x, 8), ("x", (1, 8, 12, 10), "float32"))
    factory = usmp.build(mod)
    said = factory.metadata["modules"]["default"]["image_layout"]
    assert said["layout"] == "NCHW"
    assert factory.interface.workspace_size_bytes == said["channels_first_peak_bytes"]


def layouts(factory):
    """What was compared of layouts, if both have a plan."""
    return next(filter(None, details_of(factory.ir_mod, "layout")), None)


@pytest.mark.slow
def test_what_comes_by_rows_is_compared_by_rows(model):
    """Rows of an image with channels first are channels, which a copy to pixels does not take one
    by one."""

    mod = model(separable, ("x", (1, 8, 8, 8), "float32"))
    # What one build of a session has chosen is not chosen for others.
    with planning_session():
        assert layouts(usmp.build(mod))["layout"] == "NHWC"
        with PassContext(config={"tir.usmp.stream_inputs": ["x"]}):
            # With its channels last it would be refused.
            assert layouts(usmp.build(mod)) is None


@pytest.mark.slow
def test_layouts_are_compared_in_the_pools_of_the_build(model):
    mod = model(separable, ("x", (1, 8, 8, 8), "float32"))
    said = layouts(usmp.build(mod))
    last, first = said["channels_last_peak_bytes"], said["channels_first_peak_bytes"]
    assert last < first
    pool = WorkspacePoolInfo("ram", ["c"], PoolInfoProperties(size_hint_bytes=int(last)))
    factory = usmp.build(mod, workspace_memory_pools=WorkspaceMemoryPools([pool]))
    # With channels first there is no plan to compare with.
    assert layouts(factory) is None
    assert factory.interface.workspace_size_bytes == last


def test_other_modules_are_returned_as_they_are(model):
    pooled = model(lambda _, x: relax.op.nn.max_pool2d(x, (2, 2)), ("x", (1, 3, 8, 6), "float32"))
    last = model(
        lambda _, x: relax.op.nn.conv2d(
            x, weight(3, 3, 6, 4), data_layout="NHWC", kernel_layout="HWIO"
        ),
        ("x", (1, 8, 6, 6), "float32"),
    )
    kernel = weight(4, 3, 3, 3)
    quantized = between(lambda _, x: relax.op.nn.conv2d(x, kernel), (1, 3, 8, 6))
    batch = tirx.Var("batch", "int64")
    symbolic = model(lambda _, x: relax.op.nn.conv2d(x, kernel), ("x", (batch, 3, 8, 6), "float32"))
    for mod in (pooled, last, quantized, symbolic):
        assert ConvertImageLayout()(mod).same_as(mod)
    assert "permute_dims" not in calls_of(quantized)
