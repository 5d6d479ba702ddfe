// The remaining candidate pools of each item during a search.
//
// Every decision opens a level. Undoing the level undoes all consequences of the decision. Three
// rules propagate:
// - Items of a section that are confined to a set of pools must not exceed the set's capacity.
// - A pool is no candidate for an item that would overload it in a section.
// - Among items that do not fit into a pool together, one goes to another pool.
#ifndef USMP_SOLVER_POOLS_POOL_DOMAINS_H_
#define USMP_SOLVER_POOLS_POOL_DOMAINS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

class PoolDomains {
 public:
  /*! \brief `together`, the items as if in a single pool, is kept by reference. */
  PoolDomains(const Problem& problem, const PoolProblem& together);

  /*! \brief Forget all decisions and forbidden sets; return false if the loads forbid a plan. */
  bool Reset(const std::vector<int64_t>& capacities);

  /*! \brief Open a level and assign the item to the pool; return false if that is impossible. */
  bool Decide(int32_t item, size_t pool);
  /*! \brief Rule out a pool at the open level; return false if that is impossible. */
  bool RuleOut(int32_t item, size_t pool);
  /*! \brief Undo the last level. */
  void Undo();

  /*! \brief Forbid that all `items` are in the pool, until Reset. Return false if all are decided
   *         for it already, or if an item has no pool left. */
  bool Forbid(size_t pool, const std::vector<int32_t>& items);

  bool Allows(int32_t item, size_t pool) const { return allowed_[item * num_pools_ + pool]; }
  bool Decided(int32_t item) const { return num_allowed_[item] == 1; }
  /*! \brief Return the pool of a decided item. */
  size_t PoolOf(int32_t item) const;

  /*! \brief Return the steps since the last call. */
  int64_t TakeSteps() { return std::exchange(steps_, 0); }

 private:
  /*! \brief A set of pools, and the demand of the items that are confined to it. */
  struct PoolSet {
    std::vector<bool> has;
    int64_t capacity = 0;
    /*! \brief Bytes by section. */
    std::vector<int64_t> demand;
    std::vector<bool> confined;
  };

  /*! \brief A set of items that does not fit, and how many of them are in the pool. */
  struct Forbidden {
    size_t pool;
    std::vector<int32_t> items;
    size_t count;
  };

  /*! \brief A change to undo: the item lost a pool, or was confined to a set of pools. */
  struct Change {
    int32_t item;
    size_t pool_or_set;
    bool is_confinement;
  };

  void AddSet(const std::vector<bool>& has);
  bool ConfinedTo(int32_t item, const PoolSet& set) const;
  bool Remove(int32_t item, size_t pool);
  bool Confine(int32_t item, size_t set);
  bool Follow();
  bool FollowDecided(int32_t item);

  const Problem& problem_;
  const PoolProblem& together_;
  size_t num_pools_;
  /*! \brief Least bytes that each item adds to a section, whatever overlaps. */
  std::vector<int64_t> weight_;
  std::vector<std::vector<int32_t>> members_;
  /*! \brief One set for each pool, then larger ones. */
  std::vector<PoolSet> sets_;
  std::vector<bool> allowed_;
  std::vector<size_t> num_allowed_;
  std::vector<Forbidden> forbidden_;
  std::vector<std::vector<size_t>> forbidden_of_;
  std::vector<Change> changes_;
  std::vector<size_t> levels_;
  std::vector<int32_t> to_follow_;
  int64_t steps_ = 0;
};

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_POOL_DOMAINS_H_
