"""Lower bounds of the peak in one pool: what each is for, and all against the true optimum."""

from cpp_programs import run_with_reference, run_with_solver

# Problems in a few words: one pool, all buffers in it.
BY_HAND = r"""
#include <usmp_solver/bounds/lower_bound.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

using namespace usmp;

using Ranges = std::vector<Problem::LiveRange>;

void Add(Problem* problem, int64_t size, Ranges live, int64_t alignment = 1, int64_t pin = -1) {
  Problem::Buffer buffer{"", size, alignment, {}, {0}, live};
  if (pin >= 0) buffer.fixed_offset = pin;
  problem->buffers.push_back(buffer);
}

PoolProblem InOnePool(const Problem& problem) {
  std::vector<size_t> members(problem.buffers.size());
  std::iota(members.begin(), members.end(), 0);
  return MakePoolProblem(problem, 0, members);
}

Problem Empty() {
  Problem problem;
  problem.pools = {{"pool", kNoLimit, false}};
  return problem;
}

int main() {
  const Ranges now = {{0, 1}};
  const auto print = [](const char* name, const Problem& problem) {
    const PoolProblem pool = InOnePool(problem);
    const std::vector<int64_t> loads = Loads(pool);
    Budget budget;
    std::printf("%s %lld %lld\n", name,
                static_cast<long long>(*std::max_element(loads.begin(), loads.end())),
                static_cast<long long>(LowerBound(pool, &budget)));
  };
  Problem problem = Empty();
  Add(&problem, 10, now);
  Add(&problem, 8, now);
  problem.overlaps = {{0, 1, 4}};
  print("overlap", problem);

  problem = Empty();
  Add(&problem, 10, now);
  Add(&problem, 6, now);
  Add(&problem, 6, now);
  problem.overlaps = {{0, 1, 0}, {0, 2, 0}};
  print("two_inputs", problem);
  problem.overlaps = {{1, 0, 0}, {2, 0, 0}};
  print("two_outputs", problem);

  problem = Empty();
  Add(&problem, 5, now, 8);
  Add(&problem, 5, now, 8);
  print("alignment", problem);

  // The small one fits neither behind the first nor behind the second without a third stretch.
  problem = Empty();
  Add(&problem, 9, now, 8);
  Add(&problem, 9, now, 8);
  Add(&problem, 8, now, 1);
  print("mixed_alignments", problem);

  // One of the two fits below the pin.
  problem = Empty();
  Add(&problem, 4, now, 1, 10);
  Add(&problem, 8, now);
  Add(&problem, 8, now);
  print("pin", problem);

  problem = Empty();
  Add(&problem, 4, now, 1, 10);
  Add(&problem, 4, now, 1, 12);
  print("colliding_pins", problem);

  // Each two are live together, never all three.
  problem = Empty();
  Add(&problem, 4, {{0, 1}, {2, 3}});
  Add(&problem, 4, {{0, 1}, {4, 5}});
  Add(&problem, 4, {{2, 3}, {4, 5}});
  print("clique", problem);

  problem = Empty();
  for (int k = 0; k < 5; ++k) Add(&problem, 3, {});
  for (size_t k = 0; k < 5; ++k) problem.conflicts.push_back({k, (k + 1) % 5});
  print("odd_cycle", problem);

  // Three buffers of nearly all bytes there are.
  problem = Empty();
  for (int k = 0; k < 3; ++k) Add(&problem, kNoLimit - 1, {{k, k + 1}}, 16);
  print("huge", problem);
}
"""

AGAINST_OPTIMUM = r"""
#include <one_pool.h>
#include <usmp_solver/bounds/lower_bound.h>

#include <cstdio>

using namespace usmp;

int main() {
  constexpr int kProblems = 6000;
  int reached = 0;
  for (int seed = 0; seed < kProblems; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 6);
    const int64_t optimum = LowestPeak(drawn);
    Budget budget;
    const int64_t bound = LowerBound(drawn.pool, &budget);
    if (bound > optimum) {
      std::printf("problem %d: bound %lld, optimum %lld", seed, static_cast<long long>(bound),
                  static_cast<long long>(optimum));
      return 0;
    }
    reached += bound == optimum;
  }
  std::printf("%d", reached > kProblems * 95 / 100);
}
"""


def test_what_each_bound_is_for(tmp_path):
    """By problem, its load and its bound, which is the optimum."""
    lines = [line.split() for line in run_with_solver(BY_HAND, tmp_path).splitlines()]
    no_limit = 2**63 - 1
    assert {name: (int(load), int(bound)) for name, load, bound in lines} == {
        "overlap": (18, 12),
        "two_inputs": (22, 12),
        "two_outputs": (22, 16),
        "alignment": (10, 13),
        "mixed_alignments": (26, 33),
        "pin": (20, 22),
        "colliding_pins": (8, no_limit),
        "clique": (8, 12),
        "odd_cycle": (6, 9),
        "huge": (no_limit - 1, no_limit - 1),
    }


def test_no_bound_is_above_the_optimum_and_few_are_below(tmp_path):
    assert run_with_reference(AGAINST_OPTIMUM, tmp_path) == "1"
