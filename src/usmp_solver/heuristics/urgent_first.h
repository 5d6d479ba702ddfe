// Placing first what is live where the load is near its maximum.
#ifndef USMP_SOLVER_HEURISTICS_URGENT_FIRST_H_
#define USMP_SOLVER_HEURISTICS_URGENT_FIRST_H_

#include <cstddef>
#include <cstdint>

#include "usmp_solver/heuristics/item_measures.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Place the most urgent items by themselves, as well as is soon possible, then fit the
 *        others into the gaps.
 *
 * Of many buffers few are live where the load is near its maximum, and only there gaps are scarce.
 *
 * \param share one of so many items counts as urgent.
 * \param lower_bound no plan needs to be lower.
 * \param give_up_beyond stop if the urgent items alone end beyond this.
 * \return empty if it stopped or an offset does not fit int64; pins must not collide.
 */
Offsets PlaceUrgentFirst(const PoolProblem& problem, const ItemMeasures& measures, size_t share,
                         int64_t lower_bound, int64_t give_up_beyond, Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_URGENT_FIRST_H_
