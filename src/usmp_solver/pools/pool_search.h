// Complete search for the pools of buffers, given the capacity of each pool.
//
// It branches on the pool of a buffer. Section loads bound single pools, and all pools of a
// candidate list together. Once every buffer has a pool, each pool is placed separately. A pool
// that is proved too small yields a set of buffers that never fit into it together, which is shrunk
// and stored: logic-based Benders decomposition (Hooker and Ottosson 2003).
#ifndef USMP_SOLVER_POOLS_POOL_SEARCH_H_
#define USMP_SOLVER_POOLS_POOL_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/pools/pool_domains.h"
#include "usmp_solver/pools/spill.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

class PoolSearch {
 public:
  /*! \brief `together`, the items as if in a single pool, is kept by reference. */
  PoolSearch(const Problem& problem, const PoolProblem& together);

  /*!
   * \brief Place all items within the capacities of their pools, or prove that this is impossible.
   *
   * Later calls reuse learned sets. Very large problems are not decided.
   *
   * \param capacities by pool of the problem.
   * \param placements written only if the verdict is kPlaced.
   */
  Verdict Place(const std::vector<int64_t>& capacities, Budget* budget, Placements* placements);

  /*! \brief Return whether the loads alone prove that not all items can be placed. */
  bool Overloaded(const std::vector<int64_t>& capacities, Budget* budget);

  /*! \brief Return items that the loads force into the pool, which must not be overloaded. */
  std::vector<int32_t> Forced(const std::vector<int64_t>& capacities, size_t pool, Budget* budget);

 private:
  /*! \brief Items that do not fit into the pool together, within the capacity. */
  struct Nogood {
    size_t pool;
    int64_t capacity;
    std::vector<int32_t> items;
  };

  /*! \brief Items that were placed in a pool together. */
  struct Placed {
    std::vector<int32_t> items;
    Offsets offsets;
    int64_t peak;
  };

  struct Decision {
    int32_t item;
    size_t pool;
  };

  /*! \brief Limits of one dive: it ends after `conflicts`, and gives up a pool after `slice`. */
  struct Dive {
    int64_t conflicts;
    int64_t slice;
    Budget* budget;
    /*! \brief Whether a pool was given up: then a failed dive proves nothing. */
    bool gave_up = false;
  };

  bool FitsOnly(int32_t item, const std::vector<int64_t>& capacities, size_t pool) const;
  Verdict Search(Dive* dive, Placements* placements);
  bool Root();
  bool NextItem(int32_t* item) const;
  size_t PoolToTry(int32_t item) const;
  /*! \brief Place the items of each pool; return false, with a set that does not fit, if a pool is
   *         too small. */
  bool PlacePools(Dive* dive, Placements* placements, Nogood* nogood);
  bool Recall(size_t pool, const std::vector<int32_t>& items, Placements* placements) const;
  std::vector<int32_t> Shrink(size_t pool, std::vector<int32_t> items, Dive* dive) const;
  void Bump(const std::vector<int32_t>& items);
  /*! \brief Undo decisions until the remaining ones are possible; return false if none are. */
  bool Backtrack(const Nogood* nogood);

  const Problem& problem_;
  const PoolProblem& together_;
  /*! \brief Empty if the sections are too large to list. */
  std::optional<PoolDomains> domains_;
  std::vector<int64_t> capacities_;
  std::vector<Nogood> nogoods_;
  std::vector<Decision> decisions_;
  /*! \brief The latest placements of each pool. */
  std::vector<std::vector<Placed>> placed_;
  /*! \brief Items, the largest first. */
  std::vector<int32_t> order_;
  /*! \brief How often, and how recently, each item was in a set that did not fit. */
  std::vector<double> activity_;
  double bump_ = 1;
  /*! \brief Pool of each item the last time that all items had one. */
  std::vector<size_t> last_pool_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_POOL_SEARCH_H_
