// Single-pass placements, repair and the critical chain on random problems with every feature.
#include "usmp_solver/heuristics/heuristics.h"

#include <doctest/doctest.h>

#include <functional>
#include <iterator>
#include <string>

#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/heuristics/item_measures.h"
#include "usmp_solver/heuristics/repair.h"
#include "usmp_solver/heuristics/skyline.h"
#include "usmp_solver/improvement/critical_chain.h"
#include "usmp_solver/tests/cases.h"
#include "usmp_solver/tests/fail.h"
#include "usmp_solver/tests/one_pool.h"

namespace usmp {

namespace {

constexpr int64_t kFewSteps = 200'000;

void FailIn(int seed, const char* what, const std::string& reason) {
  usmp::Fail(seed, std::string(what) + ": " + reason);
}

/*! \brief Place twice, check that the plans are valid and equal, and return one; may be empty. */
Offsets PlaceTwice(int seed, const char* what, const OnePool& drawn,
                   const std::function<Offsets(Budget*)>& place) {
  Budget first(kFewSteps);
  Budget second(kFewSteps);
  const Offsets offsets = place(&first);
  if (place(&second) != offsets) FailIn(seed, what, "another plan at the second time");
  if (first.spent() != second.spent()) FailIn(seed, what, "other work at the second time");
  if (offsets.empty()) return offsets;
  if (const auto fault = FindFault(drawn, offsets)) FailIn(seed, what, *fault);
  return offsets;
}

bool IsPinnedAt(const PoolProblem& problem, int64_t end) {
  for (const PoolProblem::Item& item : problem.items) {
    if (item.fixed_offset >= 0 && item.fixed_offset + item.size == end) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("single passes are sound, repeatable and mostly best of few") {
  int best_of_small = 0;
  int small = 0;
  const int cases = Cases(3000);
  for (int seed = 0; seed < cases; ++seed) {
    const bool is_small = seed % 2 == 0;
    const OnePool drawn = DrawOnePool(seed, is_small ? 6 : 60);
    const PoolProblem& pool = drawn.pool;
    const Separations separations(pool);
    const bool has_plan = !PinsCollide(drawn);
    const ItemMeasures measures(pool);
    const auto order = measures.Order({ItemMeasures::kUrgency, ItemMeasures::kSize});
    const std::function<Offsets(int64_t, Budget*)> ways[] = {
        [&](int64_t most, Budget* budget) {
          return PlaceFromBelow(pool, separations, order, most, budget);
        },
        [&](int64_t most, Budget* budget) {
          return PlaceInOrder(pool, separations, order, Fit::kFirst, most, budget);
        },
        [&](int64_t most, Budget* budget) {
          return PlaceInOrder(pool, separations, order, Fit::kBest, most, budget);
        },
    };
    const char* const names[] = {"skyline", "first fit", "best fit"};
    for (size_t way = 0; has_plan && way < std::size(ways); ++way) {
      const auto place = [&](int64_t most) {
        return PlaceTwice(seed, names[way], drawn,
                          [&](Budget* budget) { return ways[way](most, budget); });
      };
      const Offsets offsets = place(kNoLimit);
      if (offsets.empty()) FailIn(seed, names[way], "no plan");
      const int64_t peak = Peak(pool, offsets);
      if (place(peak) != offsets) FailIn(seed, names[way], "another plan where it ends no higher");
      const Offsets lower = place(peak - 1);
      if (!lower.empty() && !IsPinnedAt(pool, peak)) {
        FailIn(seed, names[way], "went on beyond where to give up");
      }
    }
    Budget budget;
    const int64_t bound = LowerBound(pool, &budget);
    const Offsets best = PlaceTwice(seed, "heuristics", drawn, [&](Budget* budget) {
      return PlaceHeuristically(pool, bound, budget);
    });
    if (best.empty() == has_plan) FailIn(seed, "heuristics", "no plan, or one though pins collide");
    if (!is_small || !has_plan) continue;
    ++small;
    best_of_small += Peak(pool, best) == LowestPeak(drawn);
  }
  CHECK(best_of_small > small * 85 / 100);
}

TEST_CASE("repair and the critical chain only lower a plan") {
  int lowered[] = {0, 0};
  const int cases = Cases(1500);
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, seed % 2 == 0 ? 12 : 60);
    if (PinsCollide(drawn)) continue;
    const PoolProblem& pool = drawn.pool;
    const Separations separations(pool);
    Budget unlimited;
    const int64_t bound = LowerBound(pool, &unlimited);
    const ItemMeasures measures(pool);
    const auto order = measures.Order({ItemMeasures::kStart});
    const Offsets start = PlaceInOrder(pool, separations, order, Fit::kFirst, kNoLimit, &unlimited);
    const int64_t peak = Peak(pool, start);
    const auto lower = [&](int which, const char* what,
                           const std::function<void(Budget*, Offsets*)>& improve) {
      const Offsets best = PlaceTwice(seed, what, drawn, [&](Budget* budget) {
        Offsets offsets = start;
        improve(budget, &offsets);
        return offsets;
      });
      if (Peak(pool, best) > peak) FailIn(seed, what, "a higher peak");
      lowered[which] += Peak(pool, best) < peak;
    };
    lower(0, "repair", [&](Budget* budget, Offsets* best) {
      LowerByRepair(pool, separations, bound, kFewSteps / 8, budget, best);
    });
    lower(1, "critical chain", [&](Budget* budget, Offsets* best) {
      // In slices, because the search continues where it stopped.
      CriticalChainSearch search(pool);
      for (int slice = 0; slice < 4; ++slice) {
        Budget share(budget, kFewSteps / 4);
        search.Run(bound, &share, best);
      }
    });
    for (const int64_t target : {bound - 1, bound, (bound + peak) / 2, peak - 1, peak}) {
      Budget budget(kFewSteps / 8);
      Offsets offsets = start;
      if (RepairTo(pool, separations, target, &budget, &offsets)) {
        if (target < bound) FailIn(seed, "repair", "a plan below the bound");
        const auto fault = FindFault(drawn, offsets, target);
        if (fault) FailIn(seed, "repair", *fault);
      } else {
        if (target == peak) FailIn(seed, "repair", "the plan is what was asked for");
        if (offsets != start) FailIn(seed, "repair", "changed the plan without success");
      }
    }
  }
  CHECK(lowered[0] > cases * 4 / 15);
  CHECK(lowered[1] > cases * 4 / 15);
}

}  // namespace usmp
