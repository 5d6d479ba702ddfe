"""Names of models that try to become code, in all that is written."""

from __future__ import annotations

from random import Random

import pytest

from support.hostile_models import FORMATS, check_model, draw_model
from support.hostile_names import check_c, hostile_name
from support.interface_views import constants, interface, tensor, workspace
from usmp.codegen.c.names import sanitise
from usmp.codegen.sources.entry_points import MainFunction
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.packed import print_packed_source

pytestmark = pytest.mark.cc


def draw_header(random: Random, number: int) -> str:
    """A header of tensors and pools of hostile names."""
    pools = [workspace(hostile_name(random), c_name="sram"), constants()]
    x, y = hostile_name(random), hostile_name(random)
    tensors = [tensor(x, c_name=sanitise(x))], [tensor(y, c_name="y")]
    return print_header(interface(*tensors, pools, f"{number}_{hostile_name(random)}"))


@pytest.mark.slow
@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c++", "c++11")])
def test_headers(language, standard):
    random = Random(language)
    includes = "#include <stdint.h>\n#include <math.h>\n#include <string.h>\n#include <stdio.h>\n"
    check_c(includes + "".join(draw_header(random, n) for n in range(150)), language, standard)


def test_packed_sources(tmp_path):
    """Names are strings there, of errors that TVM's runtime raises."""
    random = Random(0)
    for number in range(20):
        inputs = [tensor(hostile_name(random), c_name="x")]
        model = interface(inputs, [], [workspace(hostile_name(random), c_name="p")], f"m{number}")
        source = print_packed_source(model, [MainFunction("f", ["int8_t*", "uint8_t*"])])
        table = source[source.index("static const struct tvmgen_argument arguments[]") :]
        check_c(f"#define kDLInt 0\n#define kDLUInt 1\n{stub(source, table)}")


def stub(source: str, table: str) -> str:
    """The table of arguments with the declarations that it needs, without the headers of TVM."""
    declarations = source[source.index("struct tvmgen_argument {") :].split("};")[0] + "};\n"
    shapes = "".join(
        f"{line}\n" for line in source.split("\n") if line.startswith("static const int64_t shape_")
    )
    rows = table.split("};")[0] + "};\n"
    use = "const void* use(void);\nconst void* use(void) { return arguments; }\n"
    return f"#include <stdint.h>\n{declarations}{shapes}{rows}{use}"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(2))
def test_models(seed, form, tmp_path):
    check_model(draw_model(Random(f"{form} {seed}"), form, tmp_path))
