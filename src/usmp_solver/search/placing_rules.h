// The distances of conflicting items, and the items that are interchangeable: tables that exact
// search reads at every node.
#ifndef USMP_SOLVER_SEARCH_PLACING_RULES_H_
#define USMP_SOLVER_SEARCH_PLACING_RULES_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

struct PlacingRules {
  /*! \brief A conflict of one item with another. */
  struct Conflict {
    int32_t item;
    /*! \brief The other item starts at least this many bytes above the start of this one ... */
    int64_t above;
    /*! \brief ... or this one starts at least this many bytes above the start of the other. */
    int64_t below;
  };

  explicit PlacingRules(const PoolProblem& problem);

  /*! \brief Index of the first conflict of each item, and one more at the end. */
  std::vector<int64_t> first_conflict;
  std::vector<Conflict> conflicts;
};

/*!
 * \brief Return, for each item, the next equal item, which can be required to be above; -1 if none.
 *
 * Equal items are interchangeable, so a single order of them suffices.
 */
std::vector<int32_t> NextTwins(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_PLACING_RULES_H_
