// Making a plan of many buffers lower by moving few of them.
#ifndef USMP_SOLVER_HEURISTICS_REPAIR_H_
#define USMP_SOLVER_HEURISTICS_REPAIR_H_

#include <cstdint>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

/*!
 * \brief Move items until none ends beyond `target`.
 *
 * What ends beyond it is taken out and put back one by one, at the offset where it displaces the
 * least; what is displaced is put back in turn, and weighs more from then on.
 *
 * \param offsets a sound placement; changed only if the target is met.
 * \return whether it is.
 */
bool RepairTo(const PoolProblem& problem, const Separations& separations, int64_t target,
              Budget* budget, Offsets* offsets);

/*!
 * \brief Repair to the lower bound; where that fails, to targets between it and the peak, by
 *        bisection, until the budget is exhausted or they are a ten-thousandth apart.
 *
 * \param steps_per_target the work after which a target counts as out of reach.
 * \param best a sound placement; replaced by better ones.
 */
void LowerByRepair(const PoolProblem& problem, const Separations& separations, int64_t lower_bound,
                   int64_t steps_per_target, Budget* budget, Offsets* best);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_REPAIR_H_
