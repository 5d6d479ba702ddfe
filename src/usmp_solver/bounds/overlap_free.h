// Sets of items of which no safe overlap joins two.
#ifndef USMP_SOLVER_BOUNDS_OVERLAP_FREE_H_
#define USMP_SOLVER_BOUNDS_OVERLAP_FREE_H_

#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Picks such sets, with tables that are made once for a problem. */
class OverlapFree {
 public:
  explicit OverlapFree(const PoolProblem& problem);

  /*!
   * \brief Return the items that no overlap joins with an item picked before, in their order.
   *
   * \param excluded an item that is not picked; -1 for none.
   * \return valid until the next call.
   */
  const std::vector<int32_t>& Pick(const std::vector<int32_t>& items, int32_t excluded = -1);

 private:
  /*! \brief Overlap partners in either direction; those of item i begin at `first_partner_[i]`. */
  std::vector<int32_t> partners_;
  std::vector<size_t> first_partner_;
  /*! \brief By item, whether it overlaps one that was picked; all 0 between calls. */
  std::vector<char> is_out_;
  std::vector<int32_t> picked_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_OVERLAP_FREE_H_
