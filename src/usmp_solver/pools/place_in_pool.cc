#include "usmp_solver/pools/place_in_pool.h"

#include <algorithm>

#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/heuristics/heuristics.h"
#include "usmp_solver/model/decompose.h"

namespace usmp {

namespace {

Verdict FitPart(const PoolProblem& part, Budget* budget, Offsets* offsets) {
  if (part.capacity < 0) return Verdict::kInfeasible;
  const int64_t bound = LowerBound(part, budget);
  if (bound > part.capacity) return Verdict::kInfeasible;
  // No lower than necessary: the first plan within the capacity is enough.
  *offsets = PlaceHeuristically(part, part.capacity, budget);
  if (offsets->size() == part.items.size() && Peak(part, *offsets) <= part.capacity) {
    return Verdict::kPlaced;
  }
  return PlaceWithin(part, part.capacity, budget, offsets);
}

}  // namespace

Verdict PlaceInPool(const PoolProblem& problem, Budget* budget, Offsets* offsets,
                    std::vector<int32_t>* culprits) {
  Offsets result(problem.items.size());
  Verdict verdict = Verdict::kPlaced;
  for (const Part& part : Decompose(problem)) {
    Offsets placed;
    const Verdict of_part = FitPart(part.problem, budget, &placed);
    if (of_part == Verdict::kPlaced) {
      for (size_t i = 0; i < placed.size(); ++i) result[part.items[i]] = part.base + placed[i];
      continue;
    }
    // Prefer a part that is proved infeasible to an undecided one.
    if (verdict == Verdict::kPlaced || of_part == Verdict::kInfeasible) {
      verdict = of_part;
      // Parts below this one contribute too, so report the whole component.
      *culprits = ComponentOf(problem, part.items.front());
    }
    if (verdict == Verdict::kInfeasible) return verdict;
  }
  if (verdict == Verdict::kPlaced) *offsets = std::move(result);
  return verdict;
}

}  // namespace usmp
