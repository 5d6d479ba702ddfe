"""An algorithm of the user's own in C++: compiled against the installed header, then chosen."""

import ctypes
import shutil
import subprocess
import sys

import pytest

import usmp
from placement_graphs import graph
from usmp.algorithms import get_custom_algorithm
from usmp.analysis import check_plan

SOURCE = r"""
#include <tvm/ffi/reflection/registry.h>
#include <usmp/objects.h>

namespace {

using namespace usmp;
using Plan = ffi::Map<BufferInfo, PoolAllocation>;

// One above the other, but what does not conflict with the one before it takes the same place.
Plan Paired(const ffi::Array<BufferInfo>& buffers, int64_t) {
  Plan plan;
  int64_t start = 0, end = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferInfo& buffer = buffers[i];
    bool meets = false;
    for (const BufferInfo& other : GetConflicts(buffer)) {
      meets |= i > 0 && other.same_as(buffers[i - 1]);
    }
    if (meets) start = end;
    start += (buffer->alignment - start % buffer->alignment) % buffer->alignment;
    plan.Set(buffer, PoolAllocation(buffer->pool_candidates[0], start));
    if (start + buffer->size_bytes > end) end = start + buffer->size_bytes;
  }
  return plan;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("tir.usmp.algo.paired", Paired);
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler; install g++")
    folder = tmp_path_factory.mktemp("algorithm")
    source, library = folder / "paired.cc", folder / "paired.so"
    source.write_text(SOURCE)
    flags = subprocess.check_output(
        [sys.executable, "-m", "tvm_ffi.config", "--cxxflags"], text=True
    ).split()
    flags += ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{usmp.get_include()}"]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    ctypes.CDLL(str(library))


def test_an_algorithm_in_cpp(compiled):
    buffers = graph({"a": 10, "b": 30, "c": 20}, {"a": "c", "b": "c", "c": "ab"})
    ordered = list(buffers.values())
    plan = get_custom_algorithm("paired")(ordered, 50)
    check_plan(ordered, plan)
    assert [plan[buffer].byte_offset for buffer in ordered] == [0, 0, 30]
