// Complete search for the pools of buffers, given how many bytes each pool may use.
//
// Branches on the pool of a buffer. Loads of sections bound the pools one by one, and all pools of
// a candidate list together. When every buffer has a pool, each pool is a problem for PlaceWithin;
// a pool that is proved to be too small gives a set of buffers that can never be in it together,
// shrunk and kept: logic-based Benders decomposition (Hooker and Ottosson 2003).
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
  /*! \brief `together` is kept by reference: the items, as if all were in one pool. */
  PoolSearch(const Problem& problem, const PoolProblem& together);

  /*!
   * \brief Place all items so that none ends beyond the capacity of its pool, or prove that this
   *        cannot be. What is learned serves later calls. Very large problems are not decided.
   *
   * \param capacities by pool of the problem.
   * \param placements written if and only if the verdict is kPlaced.
   */
  Verdict Place(const std::vector<int64_t>& capacities, Budget* budget, Placements* placements);

  /*! \brief Whether the loads alone prove that not all items can be placed. */
  bool Overloaded(const std::vector<int64_t>& capacities, Budget* budget);

  /*! \brief Items that must be in the pool, as the loads prove; all must be possible. */
  std::vector<int32_t> Forced(const std::vector<int64_t>& capacities, size_t pool, Budget* budget);

 private:
  /*! \brief Items that do not fit into the pool within the capacity, all together. */
  struct Nogood {
    size_t pool;
    int64_t capacity;
    std::vector<int32_t> items;
  };

  /*! \brief Items that were placed in the pool together. */
  struct Placed {
    std::vector<int32_t> items;
    Offsets offsets;
    int64_t peak;
  };

  struct Decision {
    int32_t item;
    size_t pool;
  };

  /*! \brief Work of one dive: it ends after so many conflicts, and gives a pool up after a slice.
   */
  struct Dive {
    int64_t conflicts;
    int64_t slice;
    Budget* budget;
    /*! \brief A pool was given up: that the dive finds nothing proves nothing. */
    bool gave_up = false;
  };

  bool FitsOnly(int32_t item, const std::vector<int64_t>& capacities, size_t pool) const;
  Verdict Search(Dive* dive, Placements* placements);
  bool Root();
  bool NextItem(int32_t* item) const;
  size_t PoolToTry(int32_t item) const;
  /*! \brief False, with a set that does not fit, if a pool cannot hold what was decided. */
  bool PlacePools(Dive* dive, Placements* placements, Nogood* nogood);
  bool Recall(size_t pool, const std::vector<int32_t>& items, Placements* placements) const;
  std::vector<int32_t> Shrink(size_t pool, std::vector<int32_t> items, Dive* dive) const;
  void Bump(const std::vector<int32_t>& items);
  /*! \brief Undo decisions until what is left is possible; false if nothing is. */
  bool Backtrack(const Nogood* nogood);

  const Problem& problem_;
  const PoolProblem& together_;
  /*! \brief None if the sections are too large to list. */
  std::optional<PoolDomains> domains_;
  std::vector<int64_t> capacities_;
  std::vector<Nogood> nogoods_;
  std::vector<Decision> decisions_;
  /*! \brief By pool, the latest that were placed. */
  std::vector<std::vector<Placed>> placed_;
  /*! \brief Items, large ones first. */
  std::vector<int32_t> order_;
  /*! \brief By item, how often and how lately it was in a set that did not fit. */
  std::vector<double> activity_;
  double bump_ = 1;
  /*! \brief By item, its pool when all items had one last. */
  std::vector<size_t> last_pool_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_POOL_SEARCH_H_
