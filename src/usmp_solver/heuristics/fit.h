// Placing one item after another, each into a gap between those that are placed.
#ifndef USMP_SOLVER_HEURISTICS_FIT_H_
#define USMP_SOLVER_HEURISTICS_FIT_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/live_index.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

enum class Fit {
  /*! \brief The lowest offset. */
  kFirst,
  /*! \brief The gap that leaves the fewest bytes; above all others only if there is none. */
  kBest,
};

/*! \brief Two items that conflict and are pinned too near to each other, ascending: then there is
 *         no plan. */
std::optional<std::pair<int32_t, int32_t>> FindCollidingPins(const PoolProblem& problem,
                                                             const Separations& separations);

/*!
 * \brief Place the items in this order around the pinned ones, which must not collide.
 *
 * \param give_up_beyond stop where an item that is not pinned would end beyond this, or, unless it
 *        is kNoLimit, when the budget is exhausted.
 * \return empty if it stopped, or if an offset does not fit int64.
 */
Offsets PlaceInOrder(const PoolProblem& problem, const Separations& separations,
                     const std::vector<int32_t>& order, Fit fit, int64_t give_up_beyond,
                     Budget* budget);

/*! \brief A stretch of offsets at which an item would collide with a placed one: both excluded. */
struct Blocked {
  int64_t after;
  int64_t before;
};

/*! \brief What the placed items around this one leave no place for; in no order. */
void CollectBlocked(const PoolProblem& problem, const Separations& separations,
                    const LiveIndex& index, const Offsets& offsets, int32_t item,
                    std::vector<Blocked>* blocked);

/*!
 * \brief The lowest offset of a multiple of `alignment`, at least `lowest`, that is not blocked.
 *
 * \return -1 if it is not an int64.
 */
int64_t LowestFree(std::vector<Blocked>* blocked, int64_t lowest, int64_t alignment);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_FIT_H_
