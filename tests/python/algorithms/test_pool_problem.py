"""Time in sections: as much memory as there are buffers and conflicts that no live range tells."""

from cpp_programs import run_with_solver

LONG_LIVED = r"""
#include <sys/resource.h>
#include <usmp_solver/model/pool_problem.h>

#include <cstdio>
#include <numeric>

using namespace usmp;

int main() {
  const rlimit memory = {500'000'000, 500'000'000};
  setrlimit(RLIMIT_AS, &memory);
  constexpr int64_t kBuffers = 40'000;
  Problem problem;
  problem.pools = {{"sram"}};
  for (int64_t b = 0; b < kBuffers; ++b) {
    problem.buffers.push_back({"", 1, 1, {}, {0}, {{b, b + kBuffers / 3}}});
  }
  // The one is told by live ranges too, the other is not.
  problem.conflicts = {{0, 1}, {0, kBuffers / 2}};
  std::vector<size_t> members(kBuffers);
  std::iota(members.begin(), members.end(), size_t{0});
  const PoolProblem pool = MakePoolProblem(problem, 0, members);
  std::printf("%d %d", pool.num_sections - pool.num_time_sections,
              pool.items[0].num_spans + pool.items[kBuffers / 2].num_spans);
}
"""


def test_a_listed_conflict_does_not_make_all_sections_lists_of_buffers(tmp_path):
    assert run_with_solver(LONG_LIVED, tmp_path) == "1 4"
