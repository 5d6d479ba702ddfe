// Placement from the bottom up: always the item with the lowest offset.
#ifndef USMP_SOLVER_HEURISTICS_SKYLINE_H_
#define USMP_SOLVER_HEURISTICS_SKYLINE_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

/*!
 * \brief Place all items around the pinned ones, which must not collide.
 *
 * The next item is always the one with the lowest feasible offset. The order decides ties.
 *
 * \param give_up_beyond stop if an unpinned item would end above this offset. Unless it is
 *   kNoLimit, stop also when the budget ends.
 * \return empty if stopped, or if an offset overflows int64.
 */
Offsets PlaceFromBelow(const PoolProblem& problem, const Separations& separations,
                       const std::vector<int32_t>& order, int64_t give_up_beyond, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_SKYLINE_H_
