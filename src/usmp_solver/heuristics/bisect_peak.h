// Lowering a plan towards peaks between a bound and its own.
#ifndef USMP_SOLVER_HEURISTICS_BISECT_PEAK_H_
#define USMP_SOLVER_HEURISTICS_BISECT_PEAK_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Lower the plan to the bound itself, or halve the way between what was out of reach and the
 *        peak, until the budget is exhausted or that way is no more than the peak / `precision`.
 *
 * \param lower_to `bool(int64_t peak)` changes `best` so that it has that peak or less; false if it
 *        could not.
 */
template <typename LowerTo>
void BisectPeak(const PoolProblem& problem, int64_t lower_bound, int64_t precision, Budget* budget,
                const Offsets* best, LowerTo lower_to) {
  int64_t target = lower_bound;
  // The highest target that was out of reach.
  int64_t failed = lower_bound - 1;
  int64_t peak = Peak(problem, *best);
  while (failed + 1 < peak && !budget->exhausted()) {
    if (lower_to(target)) {
      peak = Peak(problem, *best);
    } else {
      failed = target;
    }
    if (peak - failed <= peak / precision) return;
    target = failed + (peak - failed) / 2;
  }
}

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_BISECT_PEAK_H_
