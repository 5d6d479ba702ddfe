// Search over orders of the skyline.
#ifndef USMP_SOLVER_HEURISTICS_SKYLINE_ORDERS_H_
#define USMP_SOLVER_HEURISTICS_SKYLINE_ORDERS_H_

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
 * The highest item lies on another, which lies on another, down to offset zero: this chain is what
 * makes the peak. Each step changes the priority of some large items of the chain, or beside it,
 * and places everything anew from below; a change that does not raise the peak stays.
 */
class SkylineOrderSearch {
 public:
  /*! \param problem must live as long as the search. */
  explicit SkylineOrderSearch(const PoolProblem& problem);

  /*!
   * \brief Go on until the peak is `lower_bound` or the budget is exhausted.
   *
   * \param best a sound placement, or empty; replaced by what is better.
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
  /*! \brief By item, the higher first. */
  std::vector<double> priorities_;
  /*! \brief What the priorities give; empty if nothing. */
  Offsets offsets_;
  int64_t peak_ = kNoLimit;
  std::mt19937_64 random_{1};
};

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_SKYLINE_ORDERS_H_
