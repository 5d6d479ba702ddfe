#include "usmp_solver/bounds/lower_bound.h"

#include <algorithm>

#include "usmp_solver/bounds/clique_bound.h"
#include "usmp_solver/bounds/order_bound.h"
#include "usmp_solver/bounds/section_bound.h"
#include "usmp_solver/bounds/stack_bound.h"
#include "usmp_solver/bounds/star_bound.h"
#include "usmp_solver/bounds/start_order_bound.h"

namespace usmp {

namespace {

/*! \brief Most steps of each search, a few milliseconds. Most problems need far fewer. */
constexpr int64_t kSearchSteps = 1'000'000;

}  // namespace

int64_t LowerBound(const PoolProblem& problem, Budget* budget) {
  int64_t bound = SectionBound(problem, budget);
  Budget stars(budget, kSearchSteps);
  bound = StarBound(problem, bound, &stars);
  Budget start_orders(budget, kSearchSteps);
  bound = StartOrderBound(problem, bound, &start_orders);
  Budget search(budget, kSearchSteps);
  bound = StackBound(problem, bound, &search);
  bound = CliqueBound(problem, bound, &search);
  return OrderBound(problem, bound, &search);
}

}  // namespace usmp
