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
 * \brief Rules that prune the search. Tests and benchmarks switch them off one by one.
 *
 * branch_and_bound.h explains the first three.
 */
struct ExactRules {
  /*! \brief A section fits only if its buffers fit one after the other, none before its head. */
  bool heads = true;
  /*! \brief A buffer above its head rests on a buffer that is not placed yet. */
  bool supports = true;
  /*! \brief Another buffer must occupy the place at which a buffer was refused. */
  bool blocked_holes = true;
  /*! \brief Independent parts are searched one after the other. */
  bool decomposition = true;
  /*! \brief Equal buffers keep their order. */
  bool twins = true;
  /*! \brief A buffer that is live in all sections of the others goes to the bottom. */
  bool slabs = true;
  /*! \brief Search restarts with other priorities and more nodes. */
  bool restarts = true;
  /*! \brief Buffers in sections that often pruned nodes go first. */
  bool section_weights = true;
  /*! \brief With conflicts beyond live ranges, half of the work or more goes to ClauseLearning. */
  bool clause_learning = true;
};

/*!
 * \brief An exact search of one problem that can be continued.
 *
 * For problems with millions of conflicts, it neither finds nor proves anything.
 */
class ExactSearch {
 public:
  explicit ExactSearch(const PoolProblem& problem, const ExactRules& rules = {});
  ExactSearch(ExactSearch&&) noexcept;
  ExactSearch& operator=(ExactSearch&&) noexcept;
  ~ExactSearch();

  bool is_too_large() const { return search_ == nullptr; }

  /*!
   * \brief Place all items within `capacity`, or prove that this is impossible.
   *
   * \param offsets written only if the verdict is kPlaced.
   * \return kUndecided if the budget ends first, or the problem is too large.
   */
  Verdict PlaceWithin(int64_t capacity, Budget* budget, Offsets* offsets);

  /*!
   * \brief Minimize the peak.
   *
   * Return when the lower bound reaches the peak of `best` or exceeds the capacity of the problem
   * (then nothing fits), or when the budget ends. `best` and `lower_bound` are then the latest
   * results.
   *
   * \param best the best known plan within the capacity; empty if there is none.
   * \param lower_bound of the peak of any plan; raised to what is proved.
   * \param improved called with each better peak.
   */
  void MinimizePeak(Budget* budget, Offsets* best, int64_t* lower_bound,
                    const std::function<void(int64_t)>& improved = nullptr);

 private:
  class State;
  std::unique_ptr<State> search_;
};

/*! \brief Run `ExactSearch::PlaceWithin` on a new search. */
Verdict PlaceWithin(const PoolProblem& problem, int64_t capacity, Budget* budget, Offsets* offsets,
                    const ExactRules& rules = {});

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_EXACT_H_
