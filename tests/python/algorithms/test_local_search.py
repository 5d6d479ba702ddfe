"""Local search in one pool: sound, never worse, repeatable, and mostly best of a few buffers."""

from cpp_programs import run_with_reference, run_with_solver

RANDOM = r"""
#include <one_pool.h>
#include <usmp_solver/heuristics/fit.h>
#include <usmp_solver/heuristics/local_search.h>
#include <usmp_solver/bounds/lower_bound.h>
#include <usmp_solver/heuristics/orders.h>

#include <cstdio>
#include <cstdlib>

using namespace usmp;

[[noreturn]] void Fail(int seed, const char* reason) {
  std::printf("problem %d: %s", seed, reason);
  std::exit(0);
}

// The search stops after each slice and goes on.
Offsets Search(int seed, const OnePool& drawn, int64_t bound, const Offsets& start, int64_t slice,
               int slices) {
  Offsets best = start;
  int64_t told = Peak(drawn.pool, start);
  LocalSearch search(drawn.pool);
  for (int i = 0; i < slices; ++i) {
    Budget budget(slice);
    search.Run(bound, &budget, &best, [&](int64_t peak) {
      if (peak >= told || peak != Peak(drawn.pool, best)) Fail(seed, "told a wrong peak");
      if (const auto fault = FindFault(drawn, best)) Fail(seed, fault->c_str());
      told = peak;
    });
    if (told != Peak(drawn.pool, best)) Fail(seed, "a plan that nobody was told of");
  }
  return best;
}

int main() {
  int small = 0;
  int best_of_small = 0;
  int lowered = 0;
  for (int seed = 0; seed < 1200; ++seed) {
    const bool is_small = seed % 2 == 0;
    const OnePool drawn = DrawOnePool(seed, is_small ? 6 : 40);
    if (PinsCollide(drawn)) continue;
    const PoolProblem& pool = drawn.pool;
    Budget unlimited;
    const int64_t bound = LowerBound(pool, &unlimited);
    const auto order = ItemMeasures(pool).Order({ItemMeasures::kStart});
    const Offsets start =
        PlaceInOrder(pool, Separations(pool), order, Fit::kFirst, kNoLimit, &unlimited);
    const Offsets best = Search(seed, drawn, bound, start, 200'000, 1);
    if (Search(seed, drawn, bound, start, 200'000, 1) != best) Fail(seed, "not repeatable");
    const Offsets in_slices = Search(seed, drawn, bound, start, 2'000, 100);
    if (const auto fault = FindFault(drawn, in_slices)) Fail(seed, fault->c_str());
    lowered += Peak(pool, best) < Peak(pool, start);
    if (!is_small) continue;
    ++small;
    best_of_small += Peak(pool, best) == LowestPeak(drawn);
  }
  std::printf("%d %d", lowered > 300, best_of_small > small * 95 / 100);
}
"""


def test_local_search_only_lowers_a_plan_and_mostly_finds_the_best_of_few(tmp_path):
    assert run_with_reference(RANDOM, tmp_path) == "1 1"


MUCH_SHARED = r"""
#include <usmp_solver/heuristics/beam_model.h>

#include <cstdio>
#include <numeric>

using namespace usmp;

// All are live together, and each may lie in the same bytes as any later one.
bool HasModel(size_t buffers) {
  constexpr int64_t kSize = (1 << 27) - 1;
  Problem problem;
  problem.pools = {{"sram"}};
  for (size_t b = 0; b < buffers; ++b) {
    problem.buffers.push_back({"", b == 0 ? kSize - 1 : kSize, 1, {}, {0}, {{0, 1}}});
    for (size_t output = 0; output < b; ++output) problem.overlaps.push_back({output, b, 0});
  }
  std::vector<size_t> members(buffers);
  std::iota(members.begin(), members.end(), size_t{0});
  return MakeBeamModel(MakePoolProblem(problem, 0, members), kSize).has_value();
}

int main() { std::printf("%d %d", HasModel(3), HasModel(40)); }
"""


def test_what_beams_calculate_with_stays_within_its_numbers(tmp_path):
    assert run_with_solver(MUCH_SHARED, tmp_path) == "1 0"
