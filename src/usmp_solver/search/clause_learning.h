// Exact search in one pool that learns from each failure: which orders of items cannot be together.
//
// A placement exists within a capacity exactly if every two items that conflict can be put in an
// order such that each has a start left (start_ranges.h). Search decides one order after the other
// and follows what they imply. Each failure is explained by orders, resolved until one of the last
// decision is left, and kept as a clause, so that no part of it is ever tried again:
// conflict-driven clause learning (Marques-Silva and Sakallah, "GRASP: a search algorithm for
// propositional satisfiability", IEEE Transactions on Computers 1999; Moskewicz and others,
// "Chaff", DAC 2001). No clause speaks of sections, so conflicts need not come from time. Where
// they do, BranchAndBound, which reasons about whole sections, is far better; where they do not,
// this is.
//
// A clause that was learned within some capacity holds within any smaller one, so the search for
// lower and lower peaks goes on where it was.
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
  /*! \param problem its overlaps do not go round in a circle (`HasCircle`). */
  explicit ClauseLearning(const PoolProblem& problem);

  /*!
   * \brief Search for a placement within the capacity, from where the last call stopped.
   *
   * \param capacity 0 or more.
   * \return kUndecided if the budget ran out.
   */
  Verdict Run(int64_t capacity, Budget* budget);

  /*! \brief After a verdict of kPlaced. */
  const Offsets& offsets() const { return offsets_; }

 private:
  /*! \brief Orders of which one at least holds. */
  struct Clause {
    std::vector<Order> orders;
    /*! \brief Number of decisions that its orders depended on: the fewer, the more it is worth. */
    int32_t levels;
  };

  /*! \brief Why an order holds: a clause, a refusal of its reverse, or neither for decisions. */
  struct Reason {
    int32_t clause = -1;
    bool is_refused = false;
    int64_t latest = 0;
  };

  /*! \brief Where a level began. */
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
  /*! \brief Clauses and facts hold within this capacity; none yet if it is below zero. */
  int64_t capacity_ = -1;
  /*! \brief Nothing fits within the capacity. */
  bool is_infeasible_ = false;
  Offsets offsets_;

  std::vector<Clause> clauses_;
  /*! \brief By order, the clauses to look at when it becomes false. */
  std::vector<std::vector<int32_t>> watchers_;

  /*! \brief By pair: the order that holds or -1, since which level, and why. */
  std::vector<Order> assigned_;
  std::vector<int32_t> level_of_;
  std::vector<Reason> reasons_;
  /*! \brief By pair, the order to try first: the last one that it had. */
  std::vector<Order> preferred_;
  /*! \brief Orders as they were assigned, and how many of them are propagated. */
  std::vector<Order> trail_;
  size_t propagated_ = 0;
  std::vector<Level> levels_;

  /*! \brief By pair, how often it took part in late failures. */
  std::vector<double> activity_;
  double increment_ = 1;
  /*! \brief All open pairs and perhaps others, by descending activity. */
  std::set<std::pair<double, int32_t>> by_activity_;

  std::vector<char> seen_;
  std::vector<StartRanges::Refused> refused_;
  int64_t failures_ = 0;
  int64_t restarts_ = 0;
  int64_t next_restart_ = 0;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_CLAUSE_LEARNING_H_
