// Groups of pools that share candidates, with their buffers.
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

/*! \brief Pools and their buffers. No buffer of another group has any of them as a candidate. */
class PoolGroup {
 public:
  /*! \brief Called for a pool with its peak, if there is a plan, and its lower bound. */
  using Report = std::function<void(size_t, std::optional<int64_t>, int64_t)>;

  virtual ~PoolGroup() = default;

  /*! \brief Compute bounds, then find a plan by heuristics. */
  virtual void Start(Budget* budget, const Report& report) = 0;
  /*! \brief Continue until all is proved or the budget ends. */
  virtual void Improve(SolverEffort effort, Budget* budget, const Report& report) = 0;
  /*! \brief Return whether there is a plan. */
  virtual bool found() const = 0;
  virtual bool infeasible() const = 0;
  /*! \brief Return whether further search is useless, with or without a proof. */
  virtual bool ended() const = 0;
  virtual bool optimal() const = 0;
  /*! \brief Write the placements of its buffers, and the proved lower bounds of its pools. */
  virtual void Write(std::vector<Placement>* by_buffer, std::vector<int64_t>* by_pool) const = 0;
  /*! \brief Return buffers that are proved not to fit together, if infeasible. */
  virtual std::vector<size_t> culprits() const = 0;
};

/*! \brief Return all groups, by first pool. Buffers of zero bytes are in none. */
std::vector<std::unique_ptr<PoolGroup>> PoolGroups(const Problem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_POOL_GROUP_H_
