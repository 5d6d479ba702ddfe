// Local search in one pool, for problems that are too large or too hard for exact search.
#ifndef USMP_SOLVER_IMPROVEMENT_LOCAL_SEARCH_H_
#define USMP_SOLVER_IMPROVEMENT_LOCAL_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "usmp_solver/improvement/beam_model.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Beam search with several settings and growing width; continues where it stopped. */
class LocalSearch {
 public:
  /*! \brief `problem` must outlive the search. */
  explicit LocalSearch(const PoolProblem& problem) : problem_(&problem) {}

  /*!
   * \brief Lower the peak of `best` until it is `lower_bound`, the budget ends, or no setting is
   *        left.
   *
   * \param best a valid placement; replaced by better ones.
   * \param improved called with each better peak.
   */
  void Run(int64_t lower_bound, Budget* budget, Offsets* best,
           const std::function<void(int64_t)>& improved = nullptr);

 private:
  static constexpr int32_t kFirstWidth = 4;

  bool TryWay(int64_t bound, Budget* budget, Offsets* best,
              const std::function<void(int64_t)>& improved);
  bool Widen();

  const PoolProblem* problem_;
  std::optional<BeamModel> model_;
  /*! \brief Whether no setting is left, or the problem is too large. */
  bool has_ended_ = false;
  int32_t width_ = kFirstWidth;
  size_t way_ = 0;
  /*! \brief The target is peak - (peak - bound) / part_; larger after failures. */
  int64_t part_ = 4;
  /*! \brief Whether the settings tried with the present width and part found a plan, whether none
   *         of them dropped a state, and whether the last one aimed at the next lower peak. */
  bool found_ = false;
  bool is_exhausted_ = true;
  bool aims_highest_ = false;
};

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_LOCAL_SEARCH_H_
