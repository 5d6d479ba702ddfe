// Making a plan of many buffers lower by exact search in windows of time.
#ifndef USMP_SOLVER_HEURISTICS_WINDOWS_H_
#define USMP_SOLVER_HEURISTICS_WINDOWS_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Place anew, by exact search, what lives around the items that end beyond a target.
 *
 * What lives wholly within a window of sections around such an item may go anywhere; what reaches
 * out of it stays where it is. The lower bound is tried as the target first, then what lies between
 * it and the peak, by bisection.
 *
 * \param best a sound placement; replaced by better ones.
 */
void LowerByWindows(const PoolProblem& problem, int64_t lower_bound, Budget* budget, Offsets* best);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_WINDOWS_H_
