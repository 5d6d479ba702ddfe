// A search over the orders of skyline placement.
#ifndef USMP_SOLVER_IMPROVEMENT_SKYLINE_ORDERS_H_
#define USMP_SOLVER_IMPROVEMENT_SKYLINE_ORDERS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

/*!
 * \brief Lowers the peak of a plan step by step.
 *
 * The highest item lies on another item, and so on down to offset zero: this chain determines the
 * peak. Each step changes the priorities of some large items in the chain, or beside it, and places
 * all items again. A change that does not raise the peak is kept.
 */
class SkylineOrderSearch {
 public:
  /*! \brief \param problem must outlive the search. */
  explicit SkylineOrderSearch(const PoolProblem& problem);

  /*!
   * \brief Continue until the peak is `lower_bound` or the budget ends.
   *
   * \param best a valid placement, or empty; replaced by better ones.
   */
  void Run(int64_t lower_bound, Budget* budget, Offsets* best);

 private:
  void Start(Budget* budget);
  void Step(Budget* budget);
  bool Conflict(int32_t a, int32_t b) const;
  template <typename Function>
  int32_t Any(Function accepts);
  std::vector<int32_t> Chain(Budget* budget);
  int32_t LargeBeside(int32_t item);
  Offsets Place(const std::vector<double>& priorities, int64_t limit, Budget* budget) const;
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  const PoolProblem& problem_;
  const Separations separations_;
  bool started_ = false;
  /*! \brief By item; the highest is placed first. */
  std::vector<double> priorities_;
  /*! \brief The placement by these priorities; empty if there is none. */
  Offsets offsets_;
  int64_t peak_ = kNoLimit;
  std::mt19937_64 random_{1};
};

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_SKYLINE_ORDERS_H_
