// Lower the plan of many buffers by exact search in windows of time.
#ifndef USMP_SOLVER_IMPROVEMENT_WINDOWS_H_
#define USMP_SOLVER_IMPROVEMENT_WINDOWS_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Place items that end above a target again, with the items around them, by exact search.
 *
 * Items that live within a window of sections around a high item may move; items that reach out of
 * the window stay. The first target is the lower bound; the next ones are found by bisection.
 *
 * \param best a valid placement; replaced by better ones.
 */
void LowerByWindows(const PoolProblem& problem, int64_t lower_bound, Budget* budget, Offsets* best);

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_WINDOWS_H_
