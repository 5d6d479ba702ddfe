// Exact search in one pool that learns from failures which orders of items exclude each other.
//
// A placement within a capacity exists exactly if all conflicting pairs can be ordered such that
// each item still has a possible start (start_ranges.h). The search decides one order at a time and
// propagates it. Each failure is explained by orders, resolved until a single order of the last
// decision remains, and stored as a clause that prevents its repetition: conflict-driven clause
// learning (Marques-Silva and Sakallah, "GRASP: a search algorithm for propositional
// satisfiability", IEEE Transactions on Computers 1999; Moskewicz and others, "Chaff", DAC 2001).
//
// Clauses do not refer to sections, so conflicts need not come from time. If all conflicts do,
// BranchAndBound is far better, since it reasons about whole sections; otherwise this search is
// better.
//
// A clause holds for all smaller capacities, so a search for lower and lower peaks continues.
#ifndef USMP_SOLVER_SEARCH_CLAUSE_LEARNING_H_
#define USMP_SOLVER_SEARCH_CLAUSE_LEARNING_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"
#include "usmp_solver/search/start_ranges.h"

namespace usmp {

class ClauseLearning {
 public:
  /*! \brief \param problem must have no cycle of overlaps (`HasCircle`). */
  explicit ClauseLearning(const PoolProblem& problem);

  /*!
   * \brief Search for a placement within the capacity. Continue where the last call stopped.
   *
   * \param capacity not negative.
   * \return kUndecided if the budget ends first.
   */
  Verdict Run(int64_t capacity, Budget* budget);

  /*! \brief Return the placement after a verdict of kPlaced. */
  const Offsets& offsets() const { return offsets_; }

 private:
  /*! \brief A disjunction: at least one of the orders holds. */
  struct Clause {
    std::vector<Order> orders;
    /*! \brief Number of decision levels among its orders: the fewer, the more useful the clause. */
    int32_t levels;
  };

  /*! \brief Why an order holds: a clause, the refusal of its reverse, or neither for a decision. */
  struct Reason {
    int32_t clause = -1;
    bool is_refused = false;
    int64_t latest = 0;
  };

  /*! \brief The state at the begin of a decision level. */
  struct Level {
    size_t trail;
    size_t mark;
  };

  bool IsTrue(Order order) const { return assigned_[order >> 1] == order; }
  bool IsFalse(Order order) const { return assigned_[order >> 1] == Reverse(order); }
  bool IsOpen(Order order) const { return assigned_[order >> 1] < 0; }
  int32_t level() const { return static_cast<int32_t>(levels_.size()); }

  bool Start(int64_t capacity, Budget* budget);
  void BreakSymmetry();
  void Assign(Order order, const Reason& reason);
  bool Propagate(Budget* budget, std::vector<Order>* failed);
  bool PropagateClauses(Order order, Budget* budget, std::vector<Order>* failed);
  void AssignRefused();
  std::vector<Order> ReasonOf(Order order) const;
  bool Learn(const std::vector<Order>& failed, Budget* budget);
  std::vector<Order> Resolve(const std::vector<Order>& failed, Budget* budget);
  void DropImplied(std::vector<Order>* learned, Budget* budget);
  void Backtrack(int32_t level);
  void Bump(int32_t pair);
  Order Choose();
  void Forget(Budget* budget);
  int32_t AddClause(Clause clause);

  const PoolProblem& problem_;
  StartRanges ranges_;
  /*! \brief Capacity for which clauses and facts hold; negative if there is none yet. */
  int64_t capacity_ = -1;
  /*! \brief Whether nothing fits within the capacity. */
  bool is_infeasible_ = false;
  Offsets offsets_;

  std::vector<Clause> clauses_;
  /*! \brief Clauses to check when an order becomes false, by order. */
  std::vector<std::vector<int32_t>> watchers_;

  /*! \brief By pair: the order that holds (or -1), its level, and its reason. */
  std::vector<Order> assigned_;
  std::vector<int32_t> level_of_;
  std::vector<Reason> reasons_;
  /*! \brief The order to try first, by pair: the latest order that held. */
  std::vector<Order> preferred_;
  /*! \brief Assigned orders in order of time, and the number of propagated ones. */
  std::vector<Order> trail_;
  size_t propagated_ = 0;
  std::vector<Level> levels_;

  /*! \brief How often each pair took part in recent failures. */
  std::vector<double> activity_;
  double increment_ = 1;
  /*! \brief All open pairs, and perhaps others, by descending activity. */
  std::set<std::pair<double, int32_t>> by_activity_;

  std::vector<char> seen_;
  std::vector<StartRanges::Refused> refused_;
  int64_t failures_ = 0;
  int64_t restarts_ = 0;
  int64_t next_restart_ = 0;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_CLAUSE_LEARNING_H_
