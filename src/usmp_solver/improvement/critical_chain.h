// A search along the chain of items that determines the peak, for plans of many buffers.
#ifndef USMP_SOLVER_IMPROVEMENT_CRITICAL_CHAIN_H_
#define USMP_SOLVER_IMPROVEMENT_CRITICAL_CHAIN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "usmp_solver/improvement/skyline_orders.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Lowers the peak of a plan, by turns of the large items alone and of all items.
 *
 * The large items are few, so they are soon placed well; the other items are fitted into the
 * gaps. Other items that end above the large items count as large from then on.
 */
class CriticalChainSearch {
 public:
  /*! \brief \param problem must outlive the search. */
  explicit CriticalChainSearch(const PoolProblem& problem);

  /*!
   * \brief Continue until the peak is `lower_bound` or the budget ends.
   *
   * \param best a valid placement, or empty; replaced by better ones.
   */
  void Run(int64_t lower_bound, Budget* budget, Offsets* best);

 private:
  /*! \brief The problem of the large items alone. */
  struct Coarse {
    /*! \brief By item of the whole problem. */
    std::vector<bool> is_large;
    std::vector<int32_t> items;
    PoolProblem problem;
    Offsets offsets;
    /*! \brief The lowest peak for which the others were fitted into the gaps. */
    int64_t fitted = kNoLimit;
    std::unique_ptr<SkylineOrderSearch> search;
  };

  /*! \brief Start again with the present large items. */
  void Restart(Coarse* coarse) const;
  void RunCoarse(int64_t lower_bound, Coarse* coarse, Budget* budget, Offsets* best) const;
  Offsets FitOthers(const Coarse& coarse, int64_t goal, Budget* budget,
                    std::vector<int32_t>* above) const;

  const PoolProblem& problem_;
  /*! \brief Rank of each item by size times square root of duration. */
  std::vector<int32_t> ranks_;
  /*! \brief From few large items to many. */
  std::vector<std::unique_ptr<Coarse>> levels_;
  SkylineOrderSearch fine_;
  int64_t slice_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_CRITICAL_CHAIN_H_
