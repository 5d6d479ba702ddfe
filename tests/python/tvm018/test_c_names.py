"""C that was written for TVM 0.18: names of outputs, and names of its runtime that are gone."""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.compilers import require, run_compiler
from support.onnx_models import Graph
from support.small_digits import small_digits
from usmp.driver.tvmc import main
from usmp.names import C_NAMES
from usmp.runtime.write_files import write_files
from usmp.tvm018 import ACCEPTED, C_INTERFACE, MAPPED, REFUSED

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
C, CPP = "-std=c99", "-std=c++11"
X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)

ONE_OUTPUT = """
#include <stdio.h>
#include "tvmgen_default.h"

static float samples[TVMGEN_DEFAULT_X_SIZE / sizeof(float)];
static float scores[TVMGEN_DEFAULT_OUTPUT_SIZE / sizeof(float)];

int main(void) {
  struct tvmgen_default_inputs inputs;
  struct tvmgen_default_outputs outputs;
  inputs.x = samples;
  outputs.output = scores;
  if (fread(samples, sizeof(samples), 1, stdin) != 1) return 1;
  if (tvmgen_default_run(&inputs, &outputs) != 0) return 2;
  return fwrite(scores, sizeof(scores), 1, stdout) != 1;
}
"""
TWO_OUTPUTS = ONE_OUTPUT.replace(
    "static float scores[TVMGEN_DEFAULT_OUTPUT_SIZE / sizeof(float)];",
    "static float scores[(TVMGEN_DEFAULT_OUTPUT0_SIZE + TVMGEN_DEFAULT_OUTPUT1_SIZE) / 4];",
).replace(
    "outputs.output = scores;",
    "outputs.output0 = scores;\n"
    "  outputs.output1 = &scores[TVMGEN_DEFAULT_OUTPUT0_SIZE / sizeof(float)];",
)
"""Applications as they were written for the headers of TVM 0.18."""


def onnx_model(*outputs: str, name_of_input: str = "x") -> bytes:
    """A model whose outputs have 4 and 8 elements."""
    graph = Graph()
    x = graph.input(name_of_input, [1, 8])
    narrow = graph.node("Gemm", x, graph.weight(4, 8), transB=1, outputs=[outputs[0]])
    if len(outputs) == 1:
        return graph.model(narrow)
    return graph.model(narrow, graph.node("Gemm", narrow, graph.weight(4, 8), outputs=[outputs[1]]))


MODELS = {
    "one.onnx": lambda: onnx_model("logits/add:0"),
    "two.onnx": lambda: onnx_model("output1", "logits"),
    "digits.tflite": small_digits,
}


def model_file(folder: Path, name: str) -> Path:
    (folder / name).write_bytes(MODELS[name]())
    return folder / name


def members(header: str, what: str) -> list[str]:
    """The members of the struct of inputs or outputs."""
    (struct,) = re.findall(rf"struct tvmgen_default_{what} {{\n(.*?)\n}};", header, re.DOTALL)
    return re.findall(r"\*\s*(\w+);", struct)


@pytest.mark.cc
@pytest.mark.parametrize(
    ("name", "application", "compilers"),
    [
        ("two.onnx", TWO_OUTPUTS, ("gcc", "g++")),
        ("one.onnx", ONE_OUTPUT, ("clang", "clang++")),
    ],
)
def test_an_application_for_tvms_header_gives_the_same_outputs(
    name, application, compilers, tmp_path
):
    model = usmp.import_model(model_file(tmp_path, name))
    expected = usmp.build(model).run({"x": X}).values()
    write_files(usmp.build(model, c_names="0.18").files(), tmp_path)
    for compiler in compilers:
        require(compiler)
    flags = [*STRICT, f"-I{tmp_path}/codegen/host/include"]
    objects = tmp_path / "model.o"
    source = tmp_path / "codegen/host/src/default_lib0.c"
    run_compiler([compilers[0], C, *flags, "-c", source, "-o", objects])
    for compiler, standard, ending in zip(compilers, (C, CPP), (".c", ".cc"), strict=True):
        main_file = (tmp_path / "main").with_suffix(ending)
        main_file.write_text(application)
        program = tmp_path / compiler
        command = [compiler, standard, *flags, main_file, objects, "-lm", "-o", program]
        run_compiler(command)
        done = subprocess.run([program], input=X.tobytes(), capture_output=True, timeout=60)
        assert done.returncode == 0
        assert done.stdout == b"".join(value.tobytes() for value in expected)


def test_only_names_of_outputs_differ(tmp_path):
    model = usmp.import_model(model_file(tmp_path, "one.onnx"))
    ours, old = (usmp.build(model, c_names=names) for names in C_NAMES)
    assert members(ours.header, "outputs") == ["logits_add_0"]
    assert members(old.header, "outputs") == ["output"]
    changed = ours.header.replace("LOGITS_ADD_0", "OUTPUT").replace("logits_add_0", "output")
    assert changed == old.header
    assert [str(t.info.name) for t in old.interface.outputs] == ["logits/add:0"]


@pytest.mark.slow
def test_a_tflite_model_has_its_own_names(tmp_path):
    model = usmp.import_model(model_file(tmp_path, "digits.tflite"))
    ours, old = (usmp.build(model, c_names=names) for names in C_NAMES)
    assert ours.header == old.header
    assert ours.files() == old.files()


def test_the_name_of_an_input_wins(tmp_path):
    """Its size macro has the name that an output of another size would need."""
    (tmp_path / "model.onnx").write_bytes(onnx_model("logits", name_of_input="output"))
    factory = usmp.build(tmp_path / "model.onnx", c_names="0.18")
    assert members(factory.header, "inputs") == ["output"]
    assert members(factory.header, "outputs") == ["output_1"]


@pytest.mark.slow
def test_outputs_of_each_entry_are_counted(tmp_path):
    files = [model_file(tmp_path, name) for name in ("one.onnx", "two.onnx", "digits.tflite")]
    factory = usmp.build(files, c_names="0.18")
    found = re.findall(
        r"struct tvmgen_default_(\w+)_outputs {\n(.*?)\n};", factory.header, re.DOTALL
    )
    assert {entry: re.findall(r"\*\s*(\w+);", struct) for entry, struct in found} == {
        "one": ["output"],
        "two": ["output0", "output1"],
        "digits": ["probabilities"],
    }


@pytest.mark.slow
@pytest.mark.cc
def test_tvmc_takes_the_names(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    model_file(tmp_path, "two.onnx")
    flags = ["--c-names=0.18", "--workspace-io", "-o", "two.tar", "-q"]
    assert main(["compile", "two.onnx", *flags]) == 0
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        expected = usmp.build("two.onnx", c_names="0.18").header
    with tarfile.open("two.tar") as archive:
        header = archive.extractfile("./codegen/host/include/tvmgen_default.h").read().decode()
    assert header == expected
    assert members(expected, "outputs") == ["output0", "output1"]
    np.save("x.npy", X)
    assert main(["run", "two.tar", "--inputs", "x.npy", "-o", "out.npz"]) == 0
    with np.load("out.npz") as outputs:
        assert outputs.files == ["output1", "logits", "output_0", "output_1"]
    capfd.readouterr()
    assert main(["compile", "two.onnx", "--c-names=0.17"]) == 1
    assert '--c-names: invalid choice "0.17"\n  Choices: model, 0.18\n' in capfd.readouterr().err


def test_names_of_another_version(tmp_path):
    with pytest.raises(ValueError, match=r'^unknown c_names "0\.17"\. Names: model, 0\.18$'):
        usmp.build(model_file(tmp_path, "one.onnx"), c_names="0.17")


def of_verdict(verdict: str) -> list[str]:
    return [row.name for row in C_INTERFACE if row.verdict == verdict]


FUNCTIONS = [name for name in of_verdict(ACCEPTED) if name.startswith("TVM")]
HEADERS = [name for name in of_verdict(REFUSED) if name.startswith(("tvm/", "dlpack/"))]
FILES = [name for name in of_verdict(REFUSED) if "/" in name and name not in HEADERS]
SYMBOLS = [n for n in of_verdict(REFUSED) if n.startswith(("tvmgen_", "StackMemoryManager_"))]


def test_every_row_is_tried():
    tried = [*FUNCTIONS, *HEADERS, *FILES, *SYMBOLS, "crt_config.h", "output", "output<N>"]
    metadata = ["metadata.json: memory.sids", "metadata.json: export_datetime"]
    assert sorted(row.name for row in C_INTERFACE) == sorted([*tried, *metadata])


def test_members_are_mapped_to_the_option():
    for row in C_INTERFACE:
        if row.verdict == MAPPED:
            assert row.to == ("--c-names=0.18",)
            assert row.name in ("output", "output<N>")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return usmp.build(model_file(tmp_path_factory.mktemp("digits"), "digits.tflite"))


@pytest.mark.cc
def test_what_platforms_define_is_not_called_and_headers_are_gone(digits, tmp_path):
    """As an application does that still has the platform functions of TVM 0.18."""
    require("gcc")
    write_files(digits.files(), tmp_path)
    include = '#include <stdlib.h>\n#include "tvmgen_default.h"\n'
    missing = [f"#if __has_include(<{name}>)\n#error {name}\n#endif\n" for name in HEADERS]
    functions = [f"int {name}(void);\nint {name}(void) {{ abort(); }}\n" for name in FUNCTIONS]
    (tmp_path / "main.c").write_text(
        "".join([include, *missing, *functions])
        + """
int main(void) {
  static int8_t image[TVMGEN_DEFAULT_IMAGE_SIZE], scores[TVMGEN_DEFAULT_PROBABILITIES_SIZE];
  struct tvmgen_default_inputs inputs = {.image = image};
  struct tvmgen_default_outputs outputs = {.probabilities = scores};
  return tvmgen_default_run(&inputs, &outputs);
}
"""
    )
    sources = [tmp_path / "main.c", *tmp_path.glob("codegen/host/src/*.c")]
    program = tmp_path / "program"
    command = ["gcc", C, *STRICT, f"-I{tmp_path}/codegen/host/include", *sources, "-lm"]
    run_compiler([*command, "-o", program])
    subprocess.run([program], check=True, timeout=60)


@pytest.mark.slow
def test_files_and_symbols_that_are_refused_are_in_no_archive(digits):
    files = digits.files()
    for name in FILES:
        path = name.replace("<module>", "default")
        assert not [file for file in files if file.startswith(path)]
    for name in of_verdict(REFUSED):
        assert not [file for file, text in files.items() if name.encode() in text]
    assert "static void tvmgen_default___tvm_main__(" in digits.source
    assert {"src/default.tir", "codegen/host/src/default_lib0.c"} <= set(files)


def test_metadata(digits):
    module = digits.metadata["modules"]["default"]
    assert module["export_datetime"] == "1970-01-01 00:00:00Z"
    assert "sids" not in module["memory"]
    assert all(
        "offset" in buffer for pool in module["memory"]["pools"] for buffer in pool["buffers"]
    )
