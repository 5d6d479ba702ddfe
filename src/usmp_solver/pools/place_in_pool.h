// Placement of the items of one pool within its capacity.
#ifndef USMP_SOLVER_POOLS_PLACE_IN_POOL_H_
#define USMP_SOLVER_POOLS_PLACE_IN_POOL_H_

#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

/*!
 * \brief Place all items within the capacity, part by part, or prove that this is impossible.
 *
 * \param offsets written only if the verdict is kPlaced.
 * \param culprits unless the verdict is kPlaced: items of one component that do not fit, or that
 *   could not be decided.
 */
Verdict PlaceInPool(const PoolProblem& problem, Budget* budget, Offsets* offsets,
                    std::vector<int32_t>* culprits);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_PLACE_IN_POOL_H_
