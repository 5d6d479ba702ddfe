"""Applications in C in which compiled models take turns."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.c_program import SANITIZERS, build_program
from usmp.codegen.c.names import sanitise

RUNS = 4


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled model: the files of its archive, and what the compile printed."""

    name: str
    files: Mapping[str, bytes]
    printed: str

    @property
    def metadata(self) -> dict:
        """What metadata.json says about it."""
        return json.loads(self.files["metadata.json"])["modules"][self.name]

    def size(self, pool: str) -> int:
        """Bytes of a pool, by the header."""
        header = self.files[f"codegen/host/include/tvmgen_{self.name}.h"].decode()
        prefix = f"TVMGEN_{self.name}_{pool}".upper()
        return int(
            re.search(rf"#define {prefix}_(?:WORKSPACE|CONSTANT)_POOL_SIZE (\d+)", header)[1]
        )

    def tensors(self, side: str) -> dict[str, int]:
        """C name and bytes of each input or output."""
        (entry,) = self.metadata["memory"]["functions"]["main"]
        return {sanitise(name): tensor["size"] for name, tensor in entry[side].items()}


def declarations(model: Model, pools: Mapping[str, str]) -> str:
    """An application's tensors and structs for a model, whose pools are these expressions."""
    name = model.name
    lines = [f'#include "tvmgen_{name}.h"']
    for side in ("inputs", "outputs"):
        tensors = model.tensors(side)
        lines += [
            f"static uint8_t {name}_{t}[TVMGEN_{name.upper()}_{t.upper()}_SIZE] ALIGNED;"
            for t in tensors
        ]
        fields = ", ".join(f".{t} = {name}_{t}" for t in tensors)
        lines.append(f"static struct tvmgen_{name}_{side} {name}_{side} = {{{fields}}};")
    if pools:
        fields = ", ".join(f".{pool} = {address}" for pool, address in pools.items())
        lines.append(f"static struct tvmgen_{name}_workspace_pools {name}_pools = {{{fields}}};")
    return "\n".join(lines)


def one_run(model: Model, pools: Mapping[str, str]) -> str:
    """Read the inputs, run, write the outputs."""
    name = model.name
    pools_passed = f", &{name}_pools" if pools else ""
    return "\n".join(
        [
            f"if (fread({name}_{t}, sizeof {name}_{t}, 1, stdin) != 1) return 1;"
            for t in model.tensors("inputs")
        ]
        + [f"if (tvmgen_{name}_run(&{name}_inputs, &{name}_outputs{pools_passed}) != 0) return 2;"]
        + [
            f"if (fwrite({name}_{t}, sizeof {name}_{t}, 1, stdout) != 1) return 3;"
            for t in model.tensors("outputs")
        ]
    )


def application(
    folder: Path,
    data: bytes,
    arrays: str,
    *models: tuple[Model, Mapping[str, str]],
    after: str = "",
    flags: Sequence[str] = SANITIZERS,
) -> bytes:
    """Build and run an application in which the models take turns, `RUNS` times."""
    parts = [
        "#include <stdio.h>\n#include <string.h>",
        "#define ALIGNED __attribute__((aligned(16)))",
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))",
        *(f'#include "tvmgen_{model.name}.h"' for model, _ in models),
        arrays,
        *(declarations(model, pools) for model, pools in models),
        f"int main(void) {{\nint i;\nfor (i = 0; i < {RUNS}; i++) {{",
        *(one_run(model, pools) for model, pools in models),
        after,
        "}\nreturn 0;\n}\n",
    ]
    files = {name: content for model, _ in models for name, content in model.files.items()}
    program = build_program(files, "\n".join(parts), folder, flags)
    done = subprocess.run([program], input=data, capture_output=True, check=True)
    assert len(done.stdout) == RUNS * sum(sum(m.tensors("outputs").values()) for m, _ in models)
    return done.stdout


def random_inputs(model: Model, seed: int = 0) -> list[bytes]:
    """The inputs of each run."""
    size = sum(model.tensors("inputs").values())
    values = np.random.default_rng(seed).integers(0, 256, (RUNS, size), np.uint8)
    return [run.tobytes() for run in values]


def turns(*streams: list[bytes]) -> bytes:
    """What models that take turns read or write."""
    return b"".join(part for parts in zip(*streams, strict=True) for part in parts)


def cut(data: bytes) -> list[bytes]:
    """The outputs of each run of one model."""
    size = len(data) // RUNS
    return [data[i * size : (i + 1) * size] for i in range(RUNS)]
