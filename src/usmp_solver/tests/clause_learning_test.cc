// Clause learning alone, against the optimum and against branch and bound.
#include "usmp_solver/search/clause_learning.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "usmp_solver/model/separations.h"
#include "usmp_solver/search/exact.h"
#include "usmp_solver/tests/cases.h"
#include "usmp_solver/tests/fail.h"
#include "usmp_solver/tests/one_pool.h"

namespace usmp {

namespace {

Verdict Run(ClauseLearning* search, int64_t capacity, int64_t slice) {
  Verdict verdict = Verdict::kUndecided;
  for (int64_t spent = 0; verdict == Verdict::kUndecided && spent < kSteps; spent += slice) {
    Budget budget(slice);
    verdict = search->Run(capacity, &budget);
  }
  return verdict;
}

/*! \brief Search from an ample capacity down to the lowest peak, then below it, and up again. */
void Descend(int seed, const OnePool& drawn, int64_t lowest, int64_t slice) {
  ClauseLearning search(drawn.pool);
  for (int64_t capacity = kAmple; capacity >= lowest;) {
    if (Run(&search, capacity, slice) != Verdict::kPlaced) Fail(seed, "not placed");
    if (const auto fault = FindFault(drawn, search.offsets(), capacity)) {
      Fail(seed, *fault);
    }
    capacity = Peak(drawn.pool, search.offsets()) - 1;
  }
  if (Run(&search, lowest - 1, slice) != Verdict::kInfeasible) Fail(seed, "not refused");
  if (Run(&search, lowest / 2, slice) != Verdict::kInfeasible) Fail(seed, "not refused again");
  if (Run(&search, lowest, slice) != Verdict::kPlaced) Fail(seed, "not placed again");
  if (const auto fault = FindFault(drawn, search.offsets(), lowest)) Fail(seed, *fault);
}

}  // namespace

TEST_CASE("search that learns finds and proves the optimum") {
  int tried = 0;
  int impossible = 0;
  const int cases = Cases(4000);
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 7);
    if (HasCircle(drawn.pool)) continue;
    ++tried;
    const int64_t lowest = LowestPeak(drawn);
    if (lowest == kNoLimit) {
      ++impossible;
      ClauseLearning search(drawn.pool);
      if (Run(&search, kAmple, kSteps) != Verdict::kInfeasible) Fail(seed, "pins collide");
      continue;
    }
    Descend(seed, drawn, lowest, kSteps);
    Descend(seed, drawn, lowest, 16);
  }
  CHECK(tried > cases / 2);
  CHECK(impossible > cases / 200);
  CHECK(impossible < cases / 4);
}

namespace {

Verdict Other(const PoolProblem& problem, int64_t capacity) {
  ExactRules rules;
  rules.clause_learning = false;
  Budget budget(kSteps / 10);
  Offsets offsets;
  return PlaceWithin(problem, capacity, &budget, &offsets, rules);
}

}  // namespace

TEST_CASE("its verdicts are those of branch and bound") {
  int decided = 0;
  const int cases = Cases(1000);
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 15);
    if (HasCircle(drawn.pool)) continue;
    ClauseLearning search(drawn.pool);
    const Verdict found = Run(&search, int64_t{1} << 40, kSteps);
    if (found == Verdict::kUndecided) Fail(seed, "undecided within an ample capacity");
    if (found == Verdict::kInfeasible) {
      if (!PinsCollide(drawn)) Fail(seed, "refused though pins do not collide");
      continue;
    }
    int64_t peak = Peak(drawn.pool, search.offsets());
    Verdict verdict;
    while ((verdict = Run(&search, peak - 1, kSteps)) == Verdict::kPlaced) {
      if (const auto fault = FindFault(drawn, search.offsets(), peak - 1)) {
        Fail(seed, *fault);
      }
      peak = Peak(drawn.pool, search.offsets());
    }
    if (verdict == Verdict::kUndecided) continue;
    const Verdict below = Other(drawn.pool, peak - 1);
    if (below == Verdict::kPlaced) Fail(seed, "refused, but branch and bound places it");
    if (Other(drawn.pool, peak) == Verdict::kInfeasible) Fail(seed, "placed, but refused there");
    decided += below == Verdict::kInfeasible;
  }
  CHECK(decided > cases / 2);
}

}  // namespace usmp
