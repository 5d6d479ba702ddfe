// Placement that starts with the items that live where the load is near its maximum.
#ifndef USMP_SOLVER_HEURISTICS_URGENT_FIRST_H_
#define USMP_SOLVER_HEURISTICS_URGENT_FIRST_H_

#include <cstddef>
#include <cstdint>

#include "usmp_solver/heuristics/item_measures.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Place the most urgent items alone, with some effort, then fit the others into the gaps.
 *
 * Only few of many buffers live where the load is near its maximum, and gaps are scarce only there.
 *
 * \param share one in `share` items counts as urgent.
 * \param lower_bound no plan needs to be lower.
 * \param give_up_beyond stop if the urgent items alone end above this offset.
 * \return empty if stopped, or if an offset overflows int64. Pins must not collide.
 */
Offsets PlaceUrgentFirst(const PoolProblem& problem, const ItemMeasures& measures, size_t share,
                         int64_t lower_bound, int64_t give_up_beyond, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_URGENT_FIRST_H_
