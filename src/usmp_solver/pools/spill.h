// Fast placement in several pools: each buffer in the first of its candidates that it fits into.
#ifndef USMP_SOLVER_POOLS_SPILL_H_
#define USMP_SOLVER_POOLS_SPILL_H_

#include <optional>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief By item, its place. */
using Placements = std::vector<Placement>;

/*!
 * \brief Place item by item, pinned ones first, each as low as it goes in the first candidate pool
 *        in which it stays within the limit.
 *
 * Looks at all that conflicts. Its arithmetic is checked, so that any sizes will do.
 *
 * \param together the items, with the sections that they have if all are in one pool.
 * \param order of all items.
 * \return nothing if an item does not fit.
 */
std::optional<Placements> PlaceByPreference(const Problem& problem, const PoolProblem& together,
                                            const std::vector<int32_t>& order);

/*!
 * \brief Fill pool by pool by heuristics; what ends beyond the limit goes to its next candidate.
 *
 * \return nothing if an item runs out of candidates.
 */
std::optional<Placements> PlaceBySpilling(const Problem& problem, const PoolProblem& together,
                                          Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_SPILL_H_
