"""Search that learns from failures, by itself, against the optimum and against branch and bound."""

from cpp_programs import run_with_reference

PRELUDE = r"""
#include <one_pool.h>
#include <usmp_solver/search/clause_learning.h>
#include <usmp_solver/search/exact.h>
#include <usmp_solver/search/placing_rules.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace usmp;

constexpr int64_t kSteps = 20'000'000;

[[noreturn]] void Fail(int seed, const char* reason) {
  std::printf("problem %d: %s", seed, reason);
  std::exit(0);
}

Verdict Run(ClauseLearning* search, int64_t capacity, int64_t slice) {
  Verdict verdict = Verdict::kUndecided;
  for (int64_t spent = 0; verdict == Verdict::kUndecided && spent < kSteps; spent += slice) {
    Budget budget(slice);
    verdict = search->Run(capacity, &budget);
  }
  return verdict;
}
"""

AGAINST_OPTIMUM = r"""
constexpr int64_t kAmple = 1'000'000;

// From an ample capacity to the lowest peak, then below it, where nothing fits; and up again.
void Descend(int seed, const OnePool& drawn, int64_t lowest, int64_t slice) {
  ClauseLearning search(drawn.pool);
  for (int64_t capacity = kAmple; capacity >= lowest;) {
    if (Run(&search, capacity, slice) != Verdict::kPlaced) Fail(seed, "not placed");
    if (const auto fault = FindFault(drawn, search.offsets(), capacity)) {
      Fail(seed, fault->c_str());
    }
    capacity = Peak(drawn.pool, search.offsets()) - 1;
  }
  if (Run(&search, lowest - 1, slice) != Verdict::kInfeasible) Fail(seed, "not refused");
  if (Run(&search, lowest / 2, slice) != Verdict::kInfeasible) Fail(seed, "not refused again");
  if (Run(&search, lowest, slice) != Verdict::kPlaced) Fail(seed, "not placed again");
  if (const auto fault = FindFault(drawn, search.offsets(), lowest)) Fail(seed, fault->c_str());
}

int main() {
  int tried = 0;
  int impossible = 0;
  for (int seed = 0; seed < 4000; ++seed) {
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
  std::printf("%d", tried > 2000 && 20 < impossible && impossible < 1000);
}
"""

AGAINST_BRANCH_AND_BOUND = r"""
Verdict Other(const PoolProblem& problem, int64_t capacity) {
  ExactRules rules;
  rules.clause_learning = false;
  Budget budget(kSteps / 10);
  Offsets offsets;
  return PlaceWithin(problem, capacity, &budget, &offsets, rules);
}

int main() {
  int decided = 0;
  for (int seed = 0; seed < 1000; ++seed) {
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
        Fail(seed, fault->c_str());
      }
      peak = Peak(drawn.pool, search.offsets());
    }
    if (verdict == Verdict::kUndecided) continue;
    const Verdict below = Other(drawn.pool, peak - 1);
    if (below == Verdict::kPlaced) Fail(seed, "refused, but branch and bound places it");
    if (Other(drawn.pool, peak) == Verdict::kInfeasible) Fail(seed, "placed, but refused there");
    decided += below == Verdict::kInfeasible;
  }
  std::printf("%d", decided > 500);
}
"""


def test_the_optimum_is_found_and_proved(tmp_path):
    assert run_with_reference(PRELUDE + AGAINST_OPTIMUM, tmp_path) == "1"


def test_verdicts_are_those_of_branch_and_bound(tmp_path):
    assert run_with_reference(PRELUDE + AGAINST_BRANCH_AND_BOUND, tmp_path) == "1"
