// The best placement in several pools that share candidates.
#ifndef USMP_SOLVER_POOLS_MINIMIZE_POOLS_H_
#define USMP_SOLVER_POOLS_MINIMIZE_POOLS_H_

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/effort.h"
#include "usmp_solver/pools/pool_search.h"
#include "usmp_solver/pools/portfolio.h"
#include "usmp_solver/pools/spill.h"

namespace usmp {

class PoolsMinimizer {
 public:
  /*! \brief Called for a pool with its peak, where there is a plan, and the bound. */
  using Report = std::function<void(size_t, std::optional<int64_t>, int64_t)>;

  /*!
   * \param members the buffers, ascending.
   * \param pools all their candidates, ascending.
   * \param enough bytes that no pool needs more than.
   */
  PoolsMinimizer(const Problem& problem, const std::vector<size_t>& members,
                 std::vector<size_t> pools, int64_t enough);

  /*! \brief Bounds, then a plan by heuristics. */
  void Start(Budget* budget, const Report& report = nullptr);

  /*!
   * \brief Make the peaks low, pool by pool from the least preferred, in rounds that grow; if there
   *        is no plan yet, find one. Ends when all is proved or the budget is exhausted.
   */
  void Improve(SolverEffort effort, Budget* budget, const Report& report = nullptr);

  /*! \brief Find any plan, or prove that there is none. */
  void FindAny(Budget* budget);

  bool found() const;
  bool infeasible() const { return infeasible_; }
  bool closed() const { return infeasible_ || closed_; }
  /*! \brief Closed, or too large for exact search ever to close it. */
  bool ended() const { return closed() || given_up_; }
  int64_t peak(size_t pool) const;
  /*! \brief By pool of the problem. */
  const std::vector<int64_t>& lower_bounds() const { return lower_bounds_; }
  /*! \brief Write the places of the members, if there is a plan. */
  void Write(std::vector<Placement>* by_buffer) const;
  /*! \brief If nothing fits: buffers of which that is proved. */
  const std::vector<size_t>& culprits() const { return culprits_; }

 private:
  /*! \brief Items that conflict, directly or through others. */
  struct Component {
    explicit Component(const Problem& problem, PoolProblem items)
        : together(std::move(items)), search(problem, together) {}

    PoolProblem together;
    PoolSearch search;
    /*! \brief Within the capacities; empty while there is none. */
    Placements plan;
  };

  /*! \brief One component while the peak of a pool is made low. */
  struct Stage;

  void Start(Component* component, Budget* budget);
  void FindPlans(SolverEffort effort, Budget* budget);
  void Refute(const Component& component);
  bool IsHopeless(const Component& component, SolverEffort effort) const;
  void Minimize(size_t pool, SolverEffort effort, Budget* budget, const Report& report);
  int64_t PeakOf(const Component& component, size_t pool) const;
  std::vector<int32_t> MembersOf(const Component& component, size_t pool) const;
  int64_t FirstPossible(Component* component, size_t pool, Budget* budget) const;
  Stage Open(Component* component, size_t pool, Budget* budget) const;
  void Improve(Stage* stage, size_t pool, int64_t bound, SolverEffort effort, Budget* budget);
  void Repack(Stage* stage, size_t pool, int64_t bound, Budget* budget) const;
  void TakeOver(Stage* stage, size_t pool, const Portfolio& portfolio) const;
  void TryCapacity(Stage* stage, size_t pool, int64_t capacity, Budget* budget);

  const Problem& problem_;
  std::vector<size_t> pools_;
  /*! \brief By pool of the problem, what may be used at all, and now: the limit, or the peak that
   *         was reached. */
  std::vector<int64_t> limits_;
  std::vector<int64_t> capacities_;
  /*! \brief By pool of the problem, its peak after its last turn. */
  std::vector<int64_t> reached_;
  std::vector<int64_t> lower_bounds_;
  /*! \brief Never moved: the searches refer to them. */
  std::deque<Component> components_;
  bool infeasible_ = false;
  bool closed_ = false;
  bool given_up_ = false;
  /*! \brief Steps of all searches so far. */
  int64_t spent_ = 0;
  std::vector<size_t> culprits_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_MINIMIZE_POOLS_H_
