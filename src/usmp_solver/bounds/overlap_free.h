// Sets of items without safe overlaps between them.
#ifndef USMP_SOLVER_BOUNDS_OVERLAP_FREE_H_
#define USMP_SOLVER_BOUNDS_OVERLAP_FREE_H_

#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Selects items without safe overlaps between them, with tables of one problem. */
class OverlapFree {
 public:
  explicit OverlapFree(const PoolProblem& problem);

  /*!
   * \brief Return `items`, in order, without those that overlap an item selected before.
   *
   * \param excluded an item to leave out; -1 for none.
   * \return valid until the next call.
   */
  const std::vector<int32_t>& Pick(const std::vector<int32_t>& items, int32_t excluded = -1);

 private:
  /*! \brief Overlap partners in either direction; those of item i begin at `first_partner_[i]`. */
  std::vector<int32_t> partners_;
  std::vector<size_t> first_partner_;
  /*! \brief Whether each item overlaps a selected one; all 0 between calls. */
  std::vector<char> is_out_;
  std::vector<int32_t> picked_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_OVERLAP_FREE_H_
