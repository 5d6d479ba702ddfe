// Lower the plan of many buffers by moving a few of them.
#ifndef USMP_SOLVER_HEURISTICS_REPAIR_H_
#define USMP_SOLVER_HEURISTICS_REPAIR_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

/*!
 * \brief Move items until none ends above `target`.
 *
 * Items that end above it are removed and placed again one by one, at the offset where they
 * displace the least. Displaced items are placed again in turn, and weigh more from then on.
 *
 * \param offsets a valid placement; changed only if the target is reached.
 * \return whether the target is reached.
 */
bool RepairTo(const PoolProblem& problem, const Separations& separations, int64_t target,
              Budget* budget, Offsets* offsets);

/*!
 * \brief Repair to the lower bound, or else to targets found by bisection.
 *
 * Return when the budget ends or the bisection is within a ten-thousandth of the peak.
 *
 * \param steps_per_target the work after which a target counts as failed.
 * \param best a valid placement; replaced by better ones.
 */
void LowerByRepair(const PoolProblem& problem, const Separations& separations, int64_t lower_bound,
                   int64_t steps_per_target, Budget* budget, Offsets* best);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_REPAIR_H_
