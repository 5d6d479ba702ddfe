// Place items one after the other, each into a gap between placed items.
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
  /*! \brief Take the lowest offset. */
  kFirst,
  /*! \brief Take the gap that leaves the fewest bytes; the top only if there is no gap. */
  kBest,
};

/*! \brief Return two conflicting items whose pins collide, ascending; then no plan exists. */
std::optional<std::pair<int32_t, int32_t>> FindCollidingPins(const PoolProblem& problem,
                                                             const Separations& separations);

/*!
 * \brief Place the items in this order around the pinned ones, which must not collide.
 *
 * \param give_up_beyond stop if an unpinned item would end above this offset. Unless it is
 *   kNoLimit, stop also when the budget ends.
 * \return empty if stopped, or if an offset overflows int64.
 */
Offsets PlaceInOrder(const PoolProblem& problem, const Separations& separations,
                     const std::vector<int32_t>& order, Fit fit, int64_t give_up_beyond,
                     Budget* budget);

/*! \brief An open range of offsets at which an item would collide with a placed one. */
struct Blocked {
  int64_t after;
  int64_t before;
};

/*! \brief Collect the ranges that placed items block for `item`, in no order. */
void CollectBlocked(const PoolProblem& problem, const Separations& separations,
                    const LiveIndex& index, const Offsets& offsets, int32_t item,
                    std::vector<Blocked>* blocked);

/*!
 * \brief Return the lowest unblocked multiple of `alignment` at or above `lowest`.
 *
 * \return -1 if it overflows int64.
 */
int64_t LowestFree(std::vector<Blocked>* blocked, int64_t lowest, int64_t alignment);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_FIT_H_
