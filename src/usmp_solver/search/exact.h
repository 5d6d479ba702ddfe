// Exact placement in one pool.
#ifndef USMP_SOLVER_SEARCH_EXACT_H_
#define USMP_SOLVER_SEARCH_EXACT_H_

#include <functional>
#include <memory>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

enum class Verdict { kPlaced, kInfeasible, kUndecided };

/*!
 * \brief What makes the search short; each can be left out to see what it is worth.
 *
 * The first four are argued in branch_and_bound.h.
 */
struct ExactRules {
  /*! \brief A section fits only if its buffers do one after the other, none before its head. */
  bool heads = true;
  /*! \brief A buffer that is not at its head rests on one that is not placed yet. */
  bool supports = true;
  /*! \brief Where a buffer was refused, another one must come to lie. */
  bool blocked_holes = true;
  /*! \brief Parts that have nothing to do with each other any more are searched one by one. */
  bool decomposition = true;
  /*! \brief Buffers that are alike keep their order. */
  bool twins = true;
  /*! \brief A buffer that is live throughout lies lowest. */
  bool slabs = true;
  /*! \brief Search starts again and again, with other priorities and more nodes. */
  bool restarts = true;
  /*! \brief Buffers in sections that often failed go first. */
  bool section_weights = true;
  /*! \brief Where some conflicts do not follow from live ranges, half of the work or more goes to
   * search that learns from failures (clause_learning.h). */
  bool clause_learning = true;
};

/*!
 * \brief Search in one problem, which goes on where it stopped.
 *
 * Problems with millions of conflicts are too large for it: nothing is found or proved of these.
 */
class ExactSearch {
 public:
  explicit ExactSearch(const PoolProblem& problem, const ExactRules& rules = {});
  ExactSearch(ExactSearch&&) noexcept;
  ExactSearch& operator=(ExactSearch&&) noexcept;
  ~ExactSearch();

  bool is_too_large() const { return search_ == nullptr; }

  /*!
   * \brief Place all items so that none ends beyond `capacity`, or prove that this cannot be.
   *
   * \param offsets written if and only if the verdict is kPlaced.
   * \return kUndecided if the budget ran out, or the problem is too large.
   */
  Verdict PlaceWithin(int64_t capacity, Budget* budget, Offsets* offsets);

  /*!
   * \brief Make the peak as low as possible.
   *
   * Ends when the lower bound is the peak of `best`, or beyond the capacity of the problem (then
   * nothing fits), or when the budget is exhausted; all that was found until then is kept.
   *
   * \param best the best plan known, within the capacity; empty if there is none.
   * \param lower_bound of the peak of any plan; raised to what is proved.
   * \param improved called with each better peak.
   */
  void MinimizePeak(Budget* budget, Offsets* best, int64_t* lower_bound,
                    const std::function<void(int64_t)>& improved = nullptr);

 private:
  class State;
  std::unique_ptr<State> search_;
};

/*! \brief As `ExactSearch::PlaceWithin`, from the beginning. */
Verdict PlaceWithin(const PoolProblem& problem, int64_t capacity, Budget* budget, Offsets* offsets,
                    const ExactRules& rules = {});

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_EXACT_H_
