"""The options of commands that read models, and what they say of shapes, and leave out."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from support.commands import message_of
from support.onnx_models import Graph, small_model
from usmp.driver.errors import UsageError
from usmp.driver.options.import_options import add_import_options, import_arguments
from usmp.driver.options.size_flags import input_shapes, max_sizes
from usmp.frontend.pytorch.torch_cache import without_torch_cache


@pytest.fixture
def model():
    """A model of one operator whose input has this shape."""

    def write(shape, name: str = "model.onnx") -> str:
        Path(name).write_bytes(small_model(shape=shape))
        return name

    return write


def described(tvmc, *arguments: object) -> dict:
    outcome = tvmc("info", *arguments, "--format", "json")
    assert (outcome.status, outcome.stderr) == (0, "")
    return json.loads(outcome.stdout)


# ---- the option


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ([], {}),
        (["seq=128"], {"seq": 128}),
        (["seq=128", "time=7"], {"seq": 128, "time": 7}),
        (["seq=128,time=7"], {"seq": 128, "time": 7}),
        (["seq=none"], {"seq": None}),
        (["seq=None,n=1"], {"seq": None, "n": 1}),
        (["a=b=3"], {"a=b": 3}),
        (["f(a,b)=3,c=4"], {"f(a,b)": 3, "c": 4}),
    ],
    ids=str,
)
def test_sizes_are_read(given, sizes):
    assert max_sizes(given) == sizes


@pytest.mark.parametrize("value", ["seq", "=3", "seq=1,time", ""])
def test_sizes_without_a_name_or_a_number(value):
    with pytest.raises(UsageError) as error:
        max_sizes([value])
    assert str(error.value) == f"--max {value}: write it as SIZE=N, such as seq=128"


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many", "12k", "٣", "1" + "0" * 5000])
def test_values_that_are_no_size(text):
    with pytest.raises((UsageError, ValueError)) as error:
        from usmp.relax.symbolic_sizes import check_max_sizes

        check_max_sizes(max_sizes([f"seq={text}"]))
    assert "must be" in str(error.value)


def test_a_size_is_named_once():
    with pytest.raises(UsageError) as error:
        max_sizes(["seq=1", "n=3,seq=2"])
    assert str(error.value) == '--max n=3,seq=2: size "seq" is named twice'


def test_the_option_is_an_argument_of_import_model():
    parser = argparse.ArgumentParser()
    add_import_options(parser)
    given = ["--max", "seq=128", "--max=time=none", "--input-shapes", "x:[1,2] y:[]"]
    assert import_arguments(parser.parse_args(given)) == {
        "trust": False,
        "max_sizes": {"seq": 128, "time": None},
        "input_shapes": {"x": [1, 2], "y": []},
    }


@pytest.mark.parametrize(
    ("given", "shapes"),
    [
        ([], {}),
        (["x:[1,16000]"], {"x": [1, 16000]}),
        (["x:[1, 2] y : [3]"], {"x": [1, 2], "y": [3]}),
        (["x:[1],y:[3]", "z:[]"], {"x": [1], "y": [3], "z": []}),
        (["serving_default_x:0:[1,3]"], {"serving_default_x:0": [1, 3]}),
        (["two words:[4]"], {"two words": [4]}),
    ],
    ids=str,
)
def test_shapes_are_read(given, shapes):
    assert input_shapes(given) == shapes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *(
            (v, 'write it as NAME:[N,...], such as "x:[1,16000]", several with spaces between them')
            for v in ("x", "x:1,2", "x:[1,2", ":[3]", "x:[1] y")
        ),
        ("x:[0]", "an extent must be a number from 1, not 0"),
        *(
            (
                f"x:[1,{extent}]",
                f"an extent must be a number from 1, not {extent}; for a size that only a run "
                "knows, leave the input out, and write --max SIZE=N (tvmc info shows the sizes)",
            )
            for extent in ("-1", "?")
        ),
        ("x:[1,a]", "an extent must be a number from 1, not a"),
        ("x:[1] x:[2]", 'input "x" is named twice'),
    ],
)
def test_shapes_that_are_none(value, message):
    with pytest.raises(UsageError) as error:
        input_shapes([value])
    assert str(error.value) == f"--input-shapes {value}: {message}"


# ---- commands


@pytest.mark.parametrize("command", ["compile", "plan"])
def test_a_size_without_a_bound(refused, model, command):
    assert refused(command, model((1, "a b"))) == (
        'model.onnx: input "x" has a dynamic shape, [1, a b]; memory is planned at compile time: '
        "give the shape, with --input-shapes (in Python input_shapes), or say how large its sizes "
        "may be, with --max 'a b=N' (in Python max_sizes={\"a b\": N}), N being none "
        "(None) where there is no limit"
    )


@pytest.mark.parametrize("command", ["compile", "plan", "info"])
def test_an_unknown_size(refused, model, command):
    assert refused(command, model((1, "seq")), "--max", "sek=3") == (
        'the model has no size "sek". Did you mean "seq"? Its sizes: seq'
    )


def test_a_tflite_model_has_no_sizes(refused, small_model):
    for command in ("compile", "info"):
        assert refused(command, small_model, "--max=seq=3") == (
            'the model has no size "seq". All its shapes are fixed'
        )


def test_a_size_of_none_of_several_models(refused, model):
    files = [model((1, 4), "a.onnx"), model((4, 1), "b.onnx")]
    assert refused("plan", *files, "--max=seq=3") == (
        'the model has no size "seq". All its shapes are fixed'
    )


# ---- warnings


@pytest.mark.slow
def test_what_is_left_out_of_a_model_is_said_in_a_line(tvmc):
    graph = Graph()
    graph.node("Relu", graph.input("x", [2]), outputs=["y"], layout="NHWC")
    Path("model.onnx").write_bytes(graph.model("y"))
    warning = (
        'tvmc: warning: operator Relu (output "y") has no attribute "layout" in opset 17 of ONNX; '
        "it is left out\n"
    )
    for options, said in (([], warning), (["--quiet"], "")):
        outcome = tvmc("plan", "model.onnx", *options)
        assert (outcome.status, outcome.stderr) == (0, said)


# ---- tvmc info


def test_info_of_open_sizes(tvmc, model):
    path = model(("N", "seq", None))
    description = described(tvmc, path)
    assert [tensor["shape"] for tensor in description["inputs"]] == [[1, "seq", "x_2"]]
    assert description["sizes"] == [
        {"name": "N", "lower_bound": 1, "upper_bound": None, "taken_as": 1},
        {"name": "seq", "lower_bound": 1, "upper_bound": None, "taken_as": None},
        {"name": "x_2", "lower_bound": 1, "upper_bound": None, "taken_as": None},
    ]


def test_info_of_bounded_sizes(tvmc, model):
    description = described(tvmc, model(("N", "seq")), "--max", "N=4,seq=128")
    assert [tensor["shape"] for tensor in description["inputs"]] == [["N", "seq"]]
    assert description["sizes"] == [
        {"name": "N", "lower_bound": 1, "upper_bound": 4, "taken_as": None},
        {"name": "seq", "lower_bound": 1, "upper_bound": 128, "taken_as": None},
    ]


def test_info_of_fixed_shapes_has_no_sizes(tvmc, model):
    assert "sizes" not in described(tvmc, model((1, 4)))


def test_info_as_a_table(tvmc, model):
    outcome = tvmc("info", model(("N", "seq", None)), "--max", "seq=128")
    lines = [" ".join(line.split()) for line in outcome.stdout.splitlines()]
    assert "input x float32 [1, seq, x_2]" in lines
    assert (
        "Sizes: N (taken as 1; --input-shapes gives another number, --max N=N a range), "
        "seq (1 to 128), x_2 (1 and more; --max x_2=N says how large it may be)"
    ) in lines


@pytest.mark.slow
def test_info_of_a_program(tvmc):
    with without_torch_cache():
        from support.dynamic_models import MODELS

        MODELS["convolutions"].written(Path("model.pt2"))
    description = described(tvmc, "model.pt2", "--max=x_2=64")
    assert [tensor["shape"] for tensor in description["inputs"]] == [[1, 4, "x_2"]]
    assert [tensor["shape"] for tensor in description["outputs"]] == [[1, 8, "(x_2 - 1) // 4 + 1"]]
    assert description["sizes"] == [
        {"name": "x_2", "lower_bound": 5, "upper_bound": 64, "taken_as": None}
    ]


@pytest.mark.cc
def test_a_size_without_an_upper_bound(tvmc):
    Path("model.onnx").write_bytes(small_model(shape=(1, "seq")))
    outcome = tvmc("compile", "model.onnx", "--target=c", "--max=seq=none", "-o", "model.tar")
    assert outcome.status == 0
    assert "Sizes: seq 1 or more" in outcome.stdout
    assert tvmc("run", "model.tar", "--size", "seq=5").status == 0
    outcome = tvmc("run", "model.tar")
    assert outcome.status == 1
    assert "size seq has no upper bound; say what it is, with --size seq=N" in message_of(
        outcome.stderr
    )
    assert "seq (1 and more" in tvmc("info", "model.tar").stdout


def test_info_of_given_shapes(tvmc, model):
    description = described(tvmc, model(("batch", "frames")), "--input-shapes", "x:[1,16000]")
    assert [tensor["shape"] for tensor in description["inputs"]] == [[1, 16000]]
