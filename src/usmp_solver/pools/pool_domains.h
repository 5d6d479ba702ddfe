// The pools that each buffer may still go to, while a search decides on them.
//
// Every decision opens a level, and what follows from it is undone with it. What follows:
// - the items of a section that can only be in a set of pools must not need more than the set has;
// - a pool is no candidate for an item that would overload it in a section;
// - of items that do not fit into a pool together, one goes elsewhere.
#ifndef USMP_SOLVER_POOLS_POOL_DOMAINS_H_
#define USMP_SOLVER_POOLS_POOL_DOMAINS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

class PoolDomains {
 public:
  /*! \brief `together`, the items as if all were in one pool, is kept by reference. */
  PoolDomains(const Problem& problem, const PoolProblem& together);

  /*! \brief Forget all decisions and all sets that do not fit; false if the loads prove that the
   *         items do not fit. */
  bool Reset(const std::vector<int64_t>& capacities);

  /*! \brief Open a level and put the item into the pool; false if this cannot be. */
  bool Decide(int32_t item, size_t pool);
  /*! \brief Rule out a pool at the level that is open; false if this cannot be. */
  bool RuleOut(int32_t item, size_t pool);
  /*! \brief Undo the last level. */
  void Undo();

  /*! \brief The items do not fit into the pool together, and not all of them are in it; false if
   *         this leaves an item without a pool. Holds until Reset. */
  bool Forbid(size_t pool, const std::vector<int32_t>& items);

  bool Allows(int32_t item, size_t pool) const { return allowed_[item * num_pools_ + pool]; }
  bool Decided(int32_t item) const { return num_allowed_[item] == 1; }
  /*! \brief The pool of a decided item. */
  size_t PoolOf(int32_t item) const;

  /*! \brief Steps since the last call. */
  int64_t TakeSteps() { return std::exchange(steps_, 0); }

 private:
  /*! \brief Pools, and what the items that can be in no others need. */
  struct PoolSet {
    std::vector<bool> has;
    int64_t capacity = 0;
    /*! \brief By section. */
    std::vector<int64_t> demand;
    std::vector<bool> confined;
  };

  /*! \brief A set that does not fit, and how many of it are in the pool. */
  struct Forbidden {
    size_t pool;
    std::vector<int32_t> items;
    size_t count;
  };

  /*! \brief What is undone: the item lost a pool, or was found to be confined to a set of pools. */
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
  /*! \brief By item, the bytes that it adds to a section at least, whatever overlaps. */
  std::vector<int64_t> weight_;
  std::vector<std::vector<int32_t>> members_;
  /*! \brief One for each pool, then others. */
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
