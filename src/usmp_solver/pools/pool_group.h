// Pools that share candidates, and the buffers that go to them.
#ifndef USMP_SOLVER_POOLS_POOL_GROUP_H_
#define USMP_SOLVER_POOLS_POOL_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/effort.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief A problem by itself: no other buffer has any of its pools. */
class PoolGroup {
 public:
  /*! \brief Called for a pool with its peak, where there is a plan, and the bound. */
  using Report = std::function<void(size_t, std::optional<int64_t>, int64_t)>;

  virtual ~PoolGroup() = default;

  /*! \brief Bounds, then a plan by heuristics. */
  virtual void Start(Budget* budget, const Report& report) = 0;
  /*! \brief Go on until all is proved or the budget is exhausted. */
  virtual void Improve(SolverEffort effort, Budget* budget, const Report& report) = 0;
  /*! \brief There is a plan. */
  virtual bool found() const = 0;
  virtual bool infeasible() const = 0;
  /*! \brief The plan is proved best, or it is proved that there is none; or nothing can be done. */
  virtual bool ended() const = 0;
  virtual bool optimal() const = 0;
  /*! \brief Write the places of its buffers, and what is proved of its pools' peaks. */
  virtual void Write(std::vector<Placement>* by_buffer, std::vector<int64_t>* by_pool) const = 0;
  /*! \brief If nothing fits: buffers of which that is proved. */
  virtual std::vector<size_t> culprits() const = 0;
};

/*! \brief All groups, by first pool. Buffers of no bytes are in none. */
std::vector<std::unique_ptr<PoolGroup>> PoolGroups(const Problem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_POOL_GROUP_H_
