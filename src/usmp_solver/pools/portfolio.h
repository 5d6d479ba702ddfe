// The best placement in one pool: bounds, heuristics, local search and exact search together.
#ifndef USMP_SOLVER_POOLS_PORTFOLIO_H_
#define USMP_SOLVER_POOLS_PORTFOLIO_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "usmp_solver/heuristics/critical_chain.h"
#include "usmp_solver/heuristics/local_search.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/effort.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

class Portfolio {
 public:
  /*! \brief Called with the peak, where there is a plan within the capacity, and the bound. */
  using Report = std::function<void(std::optional<int64_t>, int64_t)>;

  explicit Portfolio(const PoolProblem& problem);

  /*! \brief Bounds, then a plan by heuristics. */
  void Start(Budget* budget, const Report& report = nullptr);

  /*!
   * \brief Lower the peak and raise the bound until they meet, or the budget is exhausted.
   *
   * Searches where the peak is highest, exactly and locally in turn, in slices that grow: what is
   * easy for one of them is done soon, and what is hard for both has lost half at most. What is too
   * large for exact search is searched in windows and along the critical chain instead.
   */
  void Improve(SolverEffort effort, Budget* budget, const Report& report = nullptr);

  /*! \brief A peak of this is low enough, whether or not one can be lower. */
  void StopAt(int64_t peak);

  /*! \brief The highest end; nothing if there is no plan within the capacity yet. */
  std::optional<int64_t> peak() const;
  /*! \brief Proved of the peak of any plan; beyond the capacity if nothing fits. */
  int64_t lower_bound() const { return lower_bound_; }
  bool infeasible() const { return lower_bound_ > capacity_; }
  /*! \brief Proved best or low enough, or proved to be none. */
  bool closed() const { return infeasible() || (peak() && *peak() <= lower_bound_); }
  /*! \brief Closed, or too large where the peak is for exact search ever to close it. */
  bool ended() const { return closed() || given_up_; }
  /*! \brief Only if there is a peak. */
  Offsets offsets() const;
  /*! \brief If nothing fits: an item of the component of which that is proved. */
  int32_t culprit() const { return parts_[culprit_].part.items.front(); }

 private:
  struct PartState {
    Part part;
    /*! \brief The best plan, even beyond the capacity; may be none. */
    Offsets best;
    int64_t spent = 0;
    /*! \brief Made when they are first needed. */
    std::unique_ptr<ExactSearch> exact;
    std::unique_ptr<LocalSearch> local;
    std::unique_ptr<CriticalChainSearch> chain;
    /*! \brief The peak that windows could not lower. */
    std::optional<int64_t> after_windows;

    int64_t Top() const { return part.base + Peak(part.problem, best); }
    bool Placed() const { return best.size() == part.problem.items.size(); }
  };

  bool Fits(const PartState& state) const { return state.Placed() && state.Top() <= capacity_; }
  /*! \brief Where to search next: what has no plan yet, or is the highest. */
  PartState* Hardest();
  void Raise(int64_t bound, const PartState& state);
  void SearchExactly(PartState* state, Budget* budget, const Report& report);
  void SearchMany(PartState* state, Budget* budget);
  void SearchLocally(PartState* state, Budget* budget, const Report& report);
  std::function<void(int64_t)> ReportOf(const PartState& state, const Report& report) const;

  int64_t capacity_;
  size_t num_items_;
  std::vector<PartState> parts_;
  int64_t lower_bound_ = 0;
  size_t culprit_ = 0;
  bool given_up_ = false;
};

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_PORTFOLIO_H_
