// Fast placement in several pools: each buffer goes to its first candidate with enough space.
#ifndef USMP_SOLVER_POOLS_SPILL_H_
#define USMP_SOLVER_POOLS_SPILL_H_

#include <optional>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Placements by item. */
using Placements = std::vector<Placement>;

/*!
 * \brief Place item by item, pinned ones first, each at its lowest offset in the first candidate
 *        pool whose limit permits.
 *
 * Visits all conflicting pairs. Its arithmetic is checked, so sizes are not limited.
 *
 * \param together the items with their sections as if all were in one pool.
 * \param order of all items.
 * \return nullopt if an item does not fit.
 */
std::optional<Placements> PlaceByPreference(const Problem& problem, const PoolProblem& together,
                                            const std::vector<int32_t>& order);

/*!
 * \brief Fill pool by pool by heuristics; items that end above the limit go to their next
 *        candidate.
 *
 * \return nullopt if an item runs out of candidates.
 */
std::optional<Placements> PlaceBySpilling(const Problem& problem, const PoolProblem& together,
                                          Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_SPILL_H_
