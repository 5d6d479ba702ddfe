// Exact search in one pool against the exhaustive optimum, and on unusual input.
#include "usmp_solver/search/exact.h"

#include <doctest/doctest.h>

#include <iterator>
#include <string>
#include <vector>

#include "usmp_solver/tests/cases.h"
#include "usmp_solver/tests/fail.h"
#include "usmp_solver/tests/one_pool.h"

namespace usmp {

namespace {

constexpr int64_t kMostBuffers = 7;

/*! \brief The search without one of its rules. */
struct Variant {
  const char* name;
  ExactRules rules;
};

void FailWithout(int seed, const Variant& variant, const std::string& reason) {
  usmp::Fail(seed, "without " + std::string(variant.name) + ": " + reason);
}

std::vector<Variant> Variants() {
  constexpr bool ExactRules::* kRules[] = {
      &ExactRules::heads,         &ExactRules::supports,        &ExactRules::blocked_holes,
      &ExactRules::decomposition, &ExactRules::twins,           &ExactRules::slabs,
      &ExactRules::restarts,      &ExactRules::section_weights, &ExactRules::clause_learning};
  const char* const names[] = {"heads", "supports", "blocked_holes",   "decomposition",  "twins",
                               "slabs", "restarts", "section_weights", "clause_learning"};
  std::vector<Variant> variants = {{"nothing", {}}};
  for (size_t i = 0; i < std::size(kRules); ++i) {
    variants.push_back({names[i], {}});
    variants.back().rules.*kRules[i] = false;
  }
  return variants;
}

void TryCapacity(int seed, const Variant& variant, const OnePool& drawn, int64_t capacity,
                 Verdict expected) {
  Budget budget(kSteps);
  Offsets offsets;
  const Verdict verdict = PlaceWithin(drawn.pool, capacity, &budget, &offsets, variant.rules);
  if (verdict != expected) {
    FailWithout(seed, variant, verdict == Verdict::kUndecided ? "undecided" : "a wrong verdict");
  }
  if (verdict != Verdict::kPlaced) {
    if (!offsets.empty()) FailWithout(seed, variant, "offsets without a plan");
  } else if (const auto fault = FindFault(drawn, offsets, capacity)) {
    FailWithout(seed, variant, *fault);
  }
}

/*! \brief Minimize the peak in growing slices of steps; the result must not depend on them. */
void Minimize(int seed, const Variant& variant, const OnePool& drawn, int64_t lowest,
              int64_t slice) {
  ExactSearch search(drawn.pool, variant.rules);
  Offsets best;
  int64_t bound = 0;
  int64_t reported = kNoLimit;
  const auto is_done = [&] {
    return best.empty() ? bound > kAmple : bound == Peak(drawn.pool, best);
  };
  for (int64_t spent = 0; spent < kSteps && !is_done(); spent += slice, slice *= 2) {
    Budget budget(slice);
    search.MinimizePeak(&budget, &best, &bound, [&](int64_t peak) {
      if (peak >= reported || peak != Peak(drawn.pool, best))
        FailWithout(seed, variant, "reported a wrong peak");
      reported = peak;
    });
    if (bound > lowest) FailWithout(seed, variant, "a bound above the optimum");
  }
  if (best.empty()) FailWithout(seed, variant, "no plan");
  if (bound != lowest || Peak(drawn.pool, best) != lowest)
    FailWithout(seed, variant, "not the optimum");
  if (const auto fault = FindFault(drawn, best)) FailWithout(seed, variant, *fault);
}

void SeesThatPinsCollide(int seed, const Variant& variant, const OnePool& drawn) {
  TryCapacity(seed, variant, drawn, kAmple, Verdict::kInfeasible);
  ExactSearch search(drawn.pool);
  Budget budget(kSteps);
  Offsets best;
  int64_t bound = 0;
  search.MinimizePeak(&budget, &best, &bound);
  if (!best.empty()) FailWithout(seed, variant, "a plan though pins collide");
  if (budget.exhausted()) FailWithout(seed, variant, "undecided though pins collide");
}

}  // namespace

TEST_CASE("exact search finds and proves the optimum without any of its rules") {
  int impossible = 0;
  const int cases = Cases(2000);
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, kMostBuffers);
    const int64_t lowest = LowestPeak(drawn);
    impossible += lowest == kNoLimit;
    for (const Variant& variant : Variants()) {
      if (lowest == kNoLimit) {
        SeesThatPinsCollide(seed, variant, drawn);
        break;
      }
      TryCapacity(seed, variant, drawn, lowest - 1, Verdict::kInfeasible);
      TryCapacity(seed, variant, drawn, lowest, Verdict::kPlaced);
      TryCapacity(seed, variant, drawn, kAmple, Verdict::kPlaced);
      Minimize(seed, variant, drawn, lowest, kSteps);
      Minimize(seed, variant, drawn, lowest, 16);
    }
  }
  CHECK(impossible > cases / 100);
  CHECK(impossible < cases / 4);
}

}  // namespace usmp
