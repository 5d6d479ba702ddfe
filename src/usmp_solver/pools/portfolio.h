// The best placement in one pool, by bounds, heuristics, local search and exact search.
#ifndef USMP_SOLVER_POOLS_PORTFOLIO_H_
#define USMP_SOLVER_POOLS_PORTFOLIO_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "usmp_solver/improvement/critical_chain.h"
#include "usmp_solver/improvement/local_search.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/effort.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

class Portfolio {
 public:
  /*! \brief Called with the peak, if there is a plan within the capacity, and the lower bound. */
  using Report = std::function<void(std::optional<int64_t>, int64_t)>;

  explicit Portfolio(const PoolProblem& problem);

  /*! \brief Compute bounds, then find a plan by heuristics. */
  void Start(Budget* budget, const Report& report = nullptr);

  /*!
   * \brief Lower the peak and raise the bound until they meet, or the budget ends.
   *
   * Searches the part with the highest peak, exactly and locally in turn, in growing slices. So a
   * problem that is easy for one search takes at most twice its time. Parts that are too large for
   * exact search are searched in windows and along the critical chain instead.
   */
  void Improve(SolverEffort effort, Budget* budget, const Report& report = nullptr);

  /*! \brief Accept any plan of at most this peak, whether or not a lower one exists. */
  void StopAt(int64_t peak);

  /*! \brief Return the highest end; nullopt if there is no plan within the capacity yet. */
  std::optional<int64_t> peak() const;
  /*! \brief Return a lower bound of the peak, proved unless `StopAt` raised it; above the capacity
   *         if nothing fits. */
  int64_t lower_bound() const { return lower_bound_; }
  bool infeasible() const { return lower_bound_ > capacity_; }
  /*! \brief Return whether the plan is proved best or is low enough, or is proved not to exist. */
  bool closed() const { return infeasible() || (peak() && *peak() <= lower_bound_); }
  /*! \brief Return whether the search is closed, or too hard to be closed by exact search. */
  bool ended() const { return closed() || given_up_; }
  /*! \brief Return the offsets. There must be a peak. */
  Offsets offsets() const;
  /*! \brief Return an item of the component that is proved not to fit, if infeasible. */
  int32_t culprit() const { return parts_[culprit_].part.items.front(); }

 private:
  struct PartState {
    Part part;
    /*! \brief The best plan, even if it exceeds the capacity; may be empty. */
    Offsets best;
    int64_t spent = 0;
    /*! \brief Constructed at first use. */
    std::unique_ptr<ExactSearch> exact;
    std::unique_ptr<LocalSearch> local;
    std::unique_ptr<CriticalChainSearch> chain;
    /*! \brief The peak that windows could not lower. */
    std::optional<int64_t> after_windows;

    int64_t Top() const { return part.base + Peak(part.problem, best); }
    bool Placed() const { return best.size() == part.problem.items.size(); }
  };

  bool Fits(const PartState& state) const { return state.Placed() && state.Top() <= capacity_; }
  /*! \brief Return the part to search next: one without a plan, or the highest. */
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
