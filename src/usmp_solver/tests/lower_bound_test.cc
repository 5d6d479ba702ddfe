// Lower bounds of the peak in one pool: what each is for, and all against the true optimum.
#include "usmp_solver/bounds/lower_bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "usmp_solver/tests/cases.h"
#include "usmp_solver/tests/one_pool.h"

namespace usmp {

namespace {

using Ranges = std::vector<Problem::LiveRange>;

void Add(Problem* problem, int64_t size, Ranges live, int64_t alignment = 1, int64_t pin = -1) {
  Problem::Buffer buffer{"", size, alignment, {}, {0}, live};
  if (pin >= 0) buffer.fixed_offset = pin;
  problem->buffers.push_back(buffer);
}

PoolProblem InOnePool(const Problem& problem) {
  std::vector<size_t> members(problem.buffers.size());
  std::iota(members.begin(), members.end(), 0);
  return MakePoolProblem(problem, 0, members);
}

Problem Empty() {
  Problem problem;
  problem.pools = {{"pool", kNoLimit, false}};
  return problem;
}

/*! \brief Check the greatest load of a section, and the bound. */
void CheckBounds(const Problem& problem, int64_t load, int64_t bound) {
  const PoolProblem pool = InOnePool(problem);
  const std::vector<int64_t> loads = Loads(pool);
  CHECK(*std::max_element(loads.begin(), loads.end()) == load);
  Budget budget;
  CHECK(LowerBound(pool, &budget) == bound);
}

const Ranges kNow = {{0, 1}};

}  // namespace

TEST_CASE("the bound of what overlaps") {
  Problem problem = Empty();
  Add(&problem, 10, kNow);
  Add(&problem, 8, kNow);
  problem.overlaps = {{0, 1, 4}};
  CheckBounds(problem, 18, 12);

  problem = Empty();
  Add(&problem, 10, kNow);
  Add(&problem, 6, kNow);
  Add(&problem, 6, kNow);
  problem.overlaps = {{0, 1, 0}, {0, 2, 0}};  // Two inputs.
  CheckBounds(problem, 22, 12);
  problem.overlaps = {{1, 0, 0}, {2, 0, 0}};  // Two outputs.
  CheckBounds(problem, 22, 16);
}

TEST_CASE("the bound of what is aligned") {
  Problem problem = Empty();
  Add(&problem, 5, kNow, 8);
  Add(&problem, 5, kNow, 8);
  CheckBounds(problem, 10, 13);

  // The small one fits neither behind the first nor behind the second without a third stretch.
  problem = Empty();
  Add(&problem, 9, kNow, 8);
  Add(&problem, 9, kNow, 8);
  Add(&problem, 8, kNow, 1);
  CheckBounds(problem, 26, 33);
}

TEST_CASE("the bound of what is pinned") {
  // One of the two fits below the pin.
  Problem problem = Empty();
  Add(&problem, 4, kNow, 1, 10);
  Add(&problem, 8, kNow);
  Add(&problem, 8, kNow);
  CheckBounds(problem, 20, 22);

  problem = Empty();
  Add(&problem, 4, kNow, 1, 10);
  Add(&problem, 4, kNow, 1, 12);
  CheckBounds(problem, 8, kNoLimit);
}

TEST_CASE("the bound of what is never live all at once") {
  Problem problem = Empty();
  Add(&problem, 4, {{0, 1}, {2, 3}});
  Add(&problem, 4, {{0, 1}, {4, 5}});
  Add(&problem, 4, {{2, 3}, {4, 5}});
  CheckBounds(problem, 8, 12);

  // An odd cycle.
  problem = Empty();
  for (int k = 0; k < 5; ++k) Add(&problem, 3, {});
  for (size_t k = 0; k < 5; ++k) problem.conflicts.push_back({k, (k + 1) % 5});
  CheckBounds(problem, 6, 9);
}

TEST_CASE("the bound of three buffers of nearly all bytes there are") {
  Problem problem = Empty();
  for (int k = 0; k < 3; ++k) Add(&problem, kNoLimit - 1, {{k, k + 1}}, 16);
  CheckBounds(problem, kNoLimit - 1, kNoLimit - 1);
}

TEST_CASE("no bound is above the optimum and few are below") {
  const int cases = Cases(6000);
  int reached = 0;
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 6);
    const int64_t optimum = LowestPeak(drawn);
    Budget budget;
    const int64_t bound = LowerBound(drawn.pool, &budget);
    CAPTURE(seed);
    REQUIRE(bound <= optimum);
    reached += bound == optimum;
  }
  CHECK(reached > cases * 95 / 100);
}

}  // namespace usmp
