// Search along the chain of items that makes the peak, for plans of many buffers.
#ifndef USMP_SOLVER_HEURISTICS_CRITICAL_CHAIN_H_
#define USMP_SOLVER_HEURISTICS_CRITICAL_CHAIN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "usmp_solver/heuristics/skyline_orders.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Lowers the peak of a plan: of the large items alone, and of all, in turn.
 *
 * The large items are few, and so soon placed well; the others are fitted into the gaps. What then
 * lies higher than the large ones is counted among them from then on.
 */
class CriticalChainSearch {
 public:
  /*! \param problem must live as long as the search. */
  explicit CriticalChainSearch(const PoolProblem& problem);

  /*!
   * \brief Go on until the peak is `lower_bound` or the budget is exhausted.
   *
   * \param best a sound placement, or empty; replaced by what is better.
   */
  void Run(int64_t lower_bound, Budget* budget, Offsets* best);

 private:
  /*! \brief Large items by themselves. */
  struct Coarse {
    /*! \brief By item of the whole. */
    std::vector<bool> is_large;
    std::vector<int32_t> items;
    PoolProblem problem;
    Offsets offsets;
    /*! \brief The lowest peak whose gaps the others were fitted into. */
    int64_t fitted = kNoLimit;
    std::unique_ptr<SkylineOrderSearch> search;
  };

  /*! \brief Start anew with what is large. */
  void Restart(Coarse* coarse) const;
  void RunCoarse(int64_t lower_bound, Coarse* coarse, Budget* budget, Offsets* best) const;
  Offsets FitOthers(const Coarse& coarse, int64_t goal, Budget* budget,
                    std::vector<int32_t>* above) const;

  const PoolProblem& problem_;
  /*! \brief By item, its place in the order of size times root of duration. */
  std::vector<int32_t> ranks_;
  /*! \brief From few large items to many. */
  std::vector<std::unique_ptr<Coarse>> levels_;
  SkylineOrderSearch fine_;
  int64_t slice_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_CRITICAL_CHAIN_H_
