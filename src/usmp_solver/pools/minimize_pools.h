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
  /*! \brief Called for a pool with its peak, if there is a plan, and its lower bound. */
  using Report = std::function<void(size_t, std::optional<int64_t>, int64_t)>;

  /*!
   * \brief Set up the search.
   *
   * \param members indices of the buffers, ascending.
   * \param pools all their candidates, ascending.
   * \param enough upper bound of the bytes that any pool needs.
   */
  PoolsMinimizer(const Problem& problem, const std::vector<size_t>& members,
                 std::vector<size_t> pools, int64_t enough);

  /*! \brief Compute bounds, then find a plan by heuristics. */
  void Start(Budget* budget, const Report& report = nullptr);

  /*!
   * \brief Minimize the peaks, pool by pool from the least preferred, in growing rounds.
   *
   * Find a plan first if there is none. Return when all is proved or the budget ends.
   */
  void Improve(SolverEffort effort, Budget* budget, const Report& report = nullptr);

  /*! \brief Find any plan, or prove that none exists. */
  void FindAny(Budget* budget);

  bool found() const;
  bool infeasible() const { return infeasible_; }
  bool closed() const { return infeasible_ || closed_; }
  /*! \brief Return whether the search is closed, or too large to be closed by exact search. */
  bool ended() const { return closed() || given_up_; }
  int64_t peak(size_t pool) const;
  /*! \brief Return the lower bounds by pool of the problem. */
  const std::vector<int64_t>& lower_bounds() const { return lower_bounds_; }
  /*! \brief Write the placements of the members, if there is a plan. */
  void Write(std::vector<Placement>* by_buffer) const;
  /*! \brief Return buffers that are proved not to fit together, if infeasible. */
  const std::vector<size_t>& culprits() const { return culprits_; }

 private:
  /*! \brief Items that conflict, directly or through others. */
  struct Component {
    explicit Component(const Problem& problem, PoolProblem items)
        : together(std::move(items)), search(problem, together) {}

    PoolProblem together;
    PoolSearch search;
    /*! \brief A plan within the capacities; empty if there is none yet. */
    Placements plan;
  };

  /*! \brief The state of one component while the peak of a pool is minimized. */
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
  /*! \brief By pool of the problem: the limit, and the present capacity (the limit or the reached
   *         peak). */
  std::vector<int64_t> limits_;
  std::vector<int64_t> capacities_;
  /*! \brief By pool of the problem: the peak after its last turn. */
  std::vector<int64_t> reached_;
  std::vector<int64_t> lower_bounds_;
  /*! \brief A deque, because the searches keep references to its elements. */
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
