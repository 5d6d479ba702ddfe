"""Exported PyTorch programs: what they compute, their names and shapes, and damaged ones."""

from __future__ import annotations

import io
import logging
import random
import re

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.lazy import TorchModule, lazy
from support.levels import in_long_run
from support.pytorch_models import (
    Cnn,
    Function,
    Mobile,
    Perceptron,
    Recurrent,
    Residual,
    Transformer,
    example_of,
    exported,
    nn,
    quantized,
    run,
    seeded,
    torch,
)

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")
quiet = lazy("usmp.frontend.pytorch.read_program:quiet")

MUTANTS = 40


def message_of(content: bytes) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_pytorch(content)
    assert "\n" not in str(error.value)
    return str(error.value)


def built(module, *inputs, **options) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(import_pytorch(exported(module, *inputs, **options)))


KINDS = {
    "cnn": Cnn,
    "mobile": Mobile,
    "perceptron": Perceptron,
    "bilstm": lambda: Recurrent(nn.LSTM, bidirectional=True, num_layers=2),
    "gru": lambda: Recurrent(nn.GRU),
    "transformer": Transformer,
    # Of layers that others have, too.
    **dict(in_long_run({"residual": Residual, "lstm": lambda: Recurrent(nn.LSTM)}.items())),
}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_models_are_like_pytorch(make):
    module = seeded(make)
    factory = built(module, example_of(module))
    (name,) = (tensor.info.name for tensor in factory.interface.inputs)
    for seed in range(2):
        x = example_of(module, seed)
        (output,) = factory.run({name: x.numpy()}).values()
        expected = run(module, x)
        assert (output.dtype, output.shape) == (expected.dtype, expected.shape)
        assert np.abs(output - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(
    ("make", "is_per_channel"),
    [
        *[(Cnn, True), (Residual, False), (Perceptron, True)],
        # Of operators that those have, too.
        *in_long_run([(Residual, True), (Mobile, True)]),
    ],
)
def test_quantized_models_are_like_pytorch(make, is_per_channel):
    """As they are imported: integer operators, which round otherwise, have tests of their own."""
    module = quantized(seeded(make), is_per_channel)
    x = example_of(make, 9)
    with PassContext(disabled_pass=["usmp.ConvertQDQToIntegers"]):
        factory = built(module, x)
    (name,) = (tensor.info.name for tensor in factory.interface.inputs)
    (output,) = factory.run({name: x.numpy()}).values()
    expected = run(module, x)
    # Half a step of the output's quantization: the integers are the same.
    np.testing.assert_allclose(output, expected, atol=1e-4)


@pytest.mark.slow
@pytest.mark.cc
def test_last_step():
    x = torch.arange(6.0).reshape(2, 3)
    outputs = built(Function(lambda x: x[:, -1]), x).run({"x": x.numpy()})
    np.testing.assert_array_equal(outputs["select"], [2, 5])


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda x: x + 1, ["add"]),
        (lambda x: (x + 1, x * 2), ["add", "mul"]),
        (lambda x: {"sum": x + 1, "twice": x * 2}, ["sum", "twice"]),
        (lambda x: {"x": x + 1, "y": [x * 2, x]}, ["x_1", "y.0", "y.1"]),
        (lambda x: (x, x), ["x_1", "x_2"]),
    ],
)
def test_names(function, names):
    x = torch.ones(1, 3)
    factory = built(Function(function), x)
    assert [tensor.info.name for tensor in factory.interface.inputs] == ["x"]
    assert list(factory.run({"x": x.numpy()})) == names


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("function", "members"),
    [(lambda x: x + 1, ["output"]), (lambda x: (x + 1, x * 2), ["output0", "output1"])],
)
def test_names_of_tvm_018_in_c(function, members):
    x = torch.ones(1, 3)
    factory = usmp.build(import_pytorch(exported(Function(function), x)), c_names="0.18")
    (struct,) = re.findall(r"struct tvmgen_default_outputs {\n(.*?)\n};", factory.header, re.DOTALL)
    assert re.findall(r"\*\s*(\w+);", struct) == members
    expected = np.stack([x.numpy() + 1, x.numpy() * 2][: len(members)])
    np.testing.assert_array_equal([*factory.run({"x": x.numpy()}).values()], expected)


@pytest.mark.slow
@pytest.mark.models
def test_outputs_of_quantized_models_have_the_names_of_float_ones():
    module = seeded(Perceptron)
    for variant in (module, quantized(module)):
        mod = import_pytorch(exported(variant, example_of(module)))
        assert [param.name for param in mod["main"].params] == ["features"]
        assert list(mod["main"].attrs["output_names"]) == ["linear_2"]


@pytest.mark.slow
@pytest.mark.cc
def test_dynamic_batch_is_one():
    module = seeded(Perceptron)
    dynamic = ({0: torch.export.Dim("batch")},)
    factory = built(module, torch.zeros(3, 20), dynamic_shapes=dynamic)
    x = example_of(module)
    np.testing.assert_allclose(
        factory.run({"features": x.numpy()})["linear_2"], run(module, x), atol=1e-5
    )


@pytest.mark.slow
def test_other_dynamic_extents_need_bounds():
    content = exported(
        Function(lambda x: x + 1),
        torch.ones(3, 4),
        dynamic_shapes=({1: torch.export.Dim("width")},),
    )
    assert message_of(content) == (
        'input "x" has a dynamic shape, [3, x_1]; memory is planned at compile time: give the '
        "shape, with --input-shapes (in Python input_shapes), or say how large its sizes may be, "
        'with --max x_1=N (in Python max_sizes={"x_1": N}), N being none (None) where there is '
        "no limit"
    )


@pytest.mark.slow
@pytest.mark.cc
def test_infinity():
    function = Function(lambda x: torch.where(x > 0, x, -torch.inf))
    x = torch.tensor([[-1.0, 0, 2]])
    outputs = built(function, x).run({"x": x.numpy()})
    np.testing.assert_array_equal(outputs["where"], [[-np.inf, -np.inf, 2]])


class Power(TorchModule):
    def forward(self, x, exponent):
        return x**exponent


@pytest.mark.cc
def test_input_that_is_no_tensor():
    assert message_of(exported(Power(), torch.ones(2), 3)) == (
        'input "exponent" is not a tensor; export the model with tensors only'
    )


@pytest.mark.cc
def test_output_that_is_no_tensor():
    content = exported(Function(lambda x: (x + 1, None)), torch.ones(2))
    assert message_of(content) == "an output of the model is not a tensor"


@pytest.mark.slow
@pytest.mark.cc
def test_program_that_computes_nothing():
    content = exported(Function(lambda x: None), torch.ones(2))
    assert message_of(content) == "the model has no outputs"


@pytest.mark.slow
@pytest.mark.cc
def test_unsupported_operator():
    content = exported(Function(lambda x: torch.fft.fft(x).real), torch.ones(4))
    assert message_of(content) == (
        "operator aten._fft_r2c.default (node _fft_r2c) is not supported: it computes with complex "
        "numbers; use matmul() or conv1d() with constant cosines and sines, or compute it in the "
        "application"
    )


@pytest.mark.slow
@pytest.mark.cc
def test_branch_that_is_chosen_at_run_time():
    def branch(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    assert message_of(exported(Function(branch), torch.ones(4))) == (
        "operator cond (node cond) is not supported: it runs other graphs, and which of them or "
        "how often must be known at compile time; unroll loops, and export one model for each "
        "branch"
    )


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("function", "start"),
    [
        (
            lambda x: torch.linalg.inv(x),
            "operator aten._linalg_check_errors.default (node with_effects) is not ",
        ),
        (lambda x: torch.histogram(x, 4)[0], "operator aten.histogram.bin_ct is not supported: "),
    ],
    ids=["with_effects", "without_shapes"],
)
def test_operators_that_pytorch_cannot_take_apart(function, start):
    """Of one with effects it makes an argument, and for the other it knows no shapes."""
    assert message_of(exported(Function(function), torch.eye(4))).startswith(start)


@pytest.mark.slow
@pytest.mark.cc
def test_operator_that_fails_in_conversion():
    content = exported(
        Function(lambda x: x + x.new_full((2,), 3).to(torch.complex64)), torch.ones(2)
    )
    assert message_of(content).startswith(
        "operator aten._to_copy.default (node _to_copy) cannot be imported: "
    )


@pytest.mark.cc
@pytest.mark.parametrize("is_kept", [False, True], ids=["constant", "state"])
@pytest.mark.parametrize("dtype", ["bfloat16", "complex64"])
def test_types_that_a_program_cannot_hold(dtype, is_kept):
    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", torch.zeros(3, dtype=getattr(torch, dtype)))

        def forward(self, x):
            return self.held.add_(x) if is_kept else self.held + x

    message = message_of(exported(Holds(), torch.zeros(3)))
    assert message.startswith(f'tensor "held" is of type {dtype}; supported: float64, ')


@pytest.mark.cc
def test_types_that_an_input_cannot_have():
    content = exported(Function(lambda x: x.real), torch.zeros(3, dtype=torch.complex64))
    assert message_of(content).startswith('tensor "x" is of type complex64; supported: float64, ')


@pytest.mark.cc
def test_assertions_are_left_out():
    def asserts(x):
        torch._assert_async(x.sum() > 0, "the sum")
        return x.relu() + 1

    factories = [built(Function(f), torch.ones(3)) for f in (asserts, lambda x: x.relu() + 1)]
    archives = [factory.files() for factory in factories]
    texts = [files["codegen/host/src/default_lib0.c"].decode() for files in archives]
    assert len({re.sub(r"operators .*", "", text) for text in texts}) == 1


@pytest.mark.cc
@pytest.mark.parametrize("content", [b"x", bytes(100)])
def test_another_kind_of_file(content):
    assert message_of(content).startswith(
        "not a program that torch.export.save wrote, or a damaged one: "
    )


@pytest.mark.cc
def test_saved_weights_are_no_program():
    file = io.BytesIO()
    torch.save(seeded(Perceptron).state_dict(), file)
    assert message_of(file.getvalue()).startswith(
        "a file of torch.save, which is no program; export "
    )


@pytest.mark.slow
@pytest.mark.cc
def test_mutated_files_are_imported_or_refused():
    content = exported(seeded(Perceptron), torch.ones(1, 20))
    refused = 0
    for seed in range(MUTANTS):
        generator = random.Random(seed)
        damaged = bytearray(content)
        for _ in range(generator.choice([1, 4])):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        if generator.random() < 0.25:
            del damaged[generator.randrange(len(damaged)) :]
        try:
            import_pytorch(bytes(damaged))
        except usmp.UnsupportedModelError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > MUTANTS // 2


@pytest.mark.parametrize("level", [logging.NOTSET, logging.INFO, logging.CRITICAL])
def test_levels_of_logging_are_as_they_were(level):
    logging.disable(level)
    try:
        with quiet():
            assert logging.root.manager.disable == max(level, logging.WARNING)
        assert logging.root.manager.disable == level
    finally:
        logging.disable(logging.NOTSET)
