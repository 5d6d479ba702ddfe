"""The solver in a program that knows neither TVM nor Python."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import usmp
from compilers import require
from cpp_programs import ROOT, run_with_solver

# c is live with a, then with b: these two share a place. d fits nowhere beside them.
SOURCE = r"""
#include <usmp_solver/solver.h>

#include <cstdio>

int main() {
  usmp::Problem problem;
  problem.pools = {{"sram", 32, false}};
  for (const char* name : {"a", "b", "c"}) {
    usmp::Problem::Buffer buffer{name, 16, 8, {}, {0}, {}};
    if (*name != 'b') buffer.live_ranges.push_back({0, 2});
    if (*name != 'a') buffer.live_ranges.push_back({2, 4});
    problem.buffers.push_back(buffer);
  }
  const usmp::SolverResult result = usmp::SolveProblem(problem);
  if (result.status != usmp::SolverStatus::kOptimal) return 1;
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const usmp::Placement& place = result.placements[b];
    std::printf("%s %s %lld\n", problem.buffers[b].name.c_str(),
                problem.pools[place.pool].name.c_str(), static_cast<long long>(place.offset));
  }
  std::printf("peak %lld, at least %lld\n", static_cast<long long>(result.peaks[0]),
              static_cast<long long>(result.lower_bounds[0]));
  problem.buffers.push_back({"d", 1, 1, {}, {0}, {{0, 1}}});
  const usmp::SolverResult none = usmp::SolveProblem(problem);
  if (none.status != usmp::SolverStatus::kInfeasible || !none.is_irreducible) return 1;
  for (size_t b : none.infeasible_subset) std::printf("%s ", problem.buffers[b].name.c_str());
  std::printf("do not fit together\n");
}
"""
PRINTED = "a sram 16\nb sram 16\nc sram 0\npeak 32, at least 32\na c d do not fit together\n"


def test_the_installed_library(tmp_path):
    assert run_with_solver(SOURCE, tmp_path, include=Path(usmp.get_include())) == PRINTED


def test_a_project_of_its_own(tmp_path):
    """By add_subdirectory, which compiles all sources and needs nothing of this package."""
    require("g++")
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed (pip install cmake)")
    (tmp_path / "main.cc").write_text(SOURCE)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(embedding LANGUAGES CXX)\n"
        f'add_subdirectory("{ROOT}/src/usmp_solver" solver)\n'
        "add_executable(embedding main.cc)\n"
        "target_link_libraries(embedding usmp_solver)\n"
    )
    configure = [cmake, "-S", tmp_path, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Debug"]
    subprocess.run(configure, check=True)
    subprocess.run([cmake, "--build", tmp_path / "build", "--parallel", "2"], check=True)
    assert subprocess.check_output([tmp_path / "build/embedding"], text=True) == PRINTED
