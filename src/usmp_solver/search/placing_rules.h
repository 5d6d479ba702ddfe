// Which items keep clear of which, by how much, and which of them may be exchanged: what exact
// search looks up at every node.
#ifndef USMP_SOLVER_SEARCH_PLACING_RULES_H_
#define USMP_SOLVER_SEARCH_PLACING_RULES_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

struct PlacingRules {
  /*! \brief Of an item to one that it conflicts with. */
  struct Conflict {
    int32_t item;
    /*! \brief The other one starts at least that many bytes above the start of this one ... */
    int64_t above;
    /*! \brief ... or this one that many above the start of the other. */
    int64_t below;
  };

  explicit PlacingRules(const PoolProblem& problem);

  /*! \brief By item, the first of its conflicts; one more at the end. */
  std::vector<int64_t> first_conflict;
  std::vector<Conflict> conflicts;
};

/*!
 * \brief By item, the next of the items that are like it, which may as well come above; -1 if none.
 *
 * Items that are alike may be exchanged, so one order of them is enough.
 */
std::vector<int32_t> NextTwins(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_PLACING_RULES_H_
