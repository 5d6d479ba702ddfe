// Lower a plan by bisection between a lower bound and its peak.
#ifndef USMP_SOLVER_HEURISTICS_BISECT_PEAK_H_
#define USMP_SOLVER_HEURISTICS_BISECT_PEAK_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Lower the plan to the bound, or bisect between the highest failed target and the peak.
 *
 * Return when the budget ends, or when target and peak differ by at most peak / `precision`.
 *
 * \param lower_to `bool(int64_t peak)` lowers `best` to that peak or less; returns whether it did.
 */
template <typename LowerTo>
void BisectPeak(const PoolProblem& problem, int64_t lower_bound, int64_t precision, Budget* budget,
                const Offsets* best, LowerTo lower_to) {
  int64_t target = lower_bound;
  // The highest target that failed.
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
