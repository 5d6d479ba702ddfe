"""Exact search in one pool against the optimum that trying every order finds, and on odd input."""

from cpp_programs import run_with_reference, run_with_solver

AGAINST_OPTIMUM = r"""
#include <one_pool.h>
#include <usmp_solver/search/exact.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace usmp;

constexpr int kProblems = 2000;
constexpr int64_t kMostBuffers = 7;
// A thousand times what most of these take; a capacity that is far too large takes as little.
constexpr int64_t kSteps = 20'000'000;
constexpr int64_t kAmple = 1'000'000;

struct Variant {
  const char* name;
  ExactRules rules;
};

std::vector<Variant> Variants() {
  constexpr bool ExactRules::*kRules[] = {
      &ExactRules::heads,         &ExactRules::supports,  &ExactRules::blocked_holes,
      &ExactRules::decomposition, &ExactRules::twins,     &ExactRules::slabs,
      &ExactRules::restarts,      &ExactRules::section_weights,
      &ExactRules::clause_learning};
  const char* const names[] = {"heads",           "supports", "blocked_holes",
                               "decomposition",   "twins",    "slabs",
                               "restarts",        "section_weights",
                               "clause_learning"};
  std::vector<Variant> variants = {{"nothing", {}}};
  for (size_t i = 0; i < std::size(kRules); ++i) {
    variants.push_back({names[i], {}});
    variants.back().rules.*kRules[i] = false;
  }
  return variants;
}

[[noreturn]] void Fail(int seed, const Variant& variant, const char* reason) {
  std::printf("problem %d without %s: %s", seed, variant.name, reason);
  std::exit(0);
}

void TryCapacity(int seed, const Variant& variant, const OnePool& drawn, int64_t capacity,
                 Verdict expected) {
  Budget budget(kSteps);
  Offsets offsets;
  const Verdict verdict = PlaceWithin(drawn.pool, capacity, &budget, &offsets, variant.rules);
  if (verdict != expected) {
    Fail(seed, variant, verdict == Verdict::kUndecided ? "undecided" : "a wrong verdict");
  }
  if (verdict != Verdict::kPlaced) {
    if (!offsets.empty()) Fail(seed, variant, "offsets without a plan");
  } else if (const auto fault = FindFault(drawn, offsets, capacity)) {
    Fail(seed, variant, fault->c_str());
  }
}

// A slice of a few steps at a time gives the same in the end.
void Minimise(int seed, const Variant& variant, const OnePool& drawn, int64_t lowest,
              int64_t slice) {
  ExactSearch search(drawn.pool, variant.rules);
  Offsets best;
  int64_t bound = 0;
  int64_t told = kNoLimit;
  const auto is_done = [&] {
    return best.empty() ? bound > kAmple : bound == Peak(drawn.pool, best);
  };
  for (int64_t spent = 0; spent < kSteps && !is_done(); spent += slice, slice *= 2) {
    Budget budget(slice);
    search.MinimisePeak(&budget, &best, &bound, [&](int64_t peak) {
      if (peak >= told || peak != Peak(drawn.pool, best)) Fail(seed, variant, "told a wrong peak");
      told = peak;
    });
    if (bound > lowest) Fail(seed, variant, "a bound above the optimum");
  }
  if (best.empty()) Fail(seed, variant, "no plan");
  if (bound != lowest || Peak(drawn.pool, best) != lowest) Fail(seed, variant, "not the optimum");
  if (const auto fault = FindFault(drawn, best)) Fail(seed, variant, fault->c_str());
}

void SeesThatPinsCollide(int seed, const Variant& variant, const OnePool& drawn) {
  TryCapacity(seed, variant, drawn, kAmple, Verdict::kInfeasible);
  ExactSearch search(drawn.pool);
  Budget budget(kSteps);
  Offsets best;
  int64_t bound = 0;
  search.MinimisePeak(&budget, &best, &bound);
  if (!best.empty()) Fail(seed, variant, "a plan though pins collide");
  if (budget.exhausted()) Fail(seed, variant, "undecided though pins collide");
}

int main() {
  int impossible = 0;
  for (int seed = 0; seed < kProblems; ++seed) {
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
      Minimise(seed, variant, drawn, lowest, kSteps);
      Minimise(seed, variant, drawn, lowest, 16);
    }
  }
  std::printf("%d", 20 < impossible && impossible < kProblems / 4);
}
"""

# Each buffer may lie over the next 74 of a circle of 150.
CIRCLE = r"""
#include <usmp_solver/search/exact.h>

#include <pthread.h>

#include <cstdio>
#include <numeric>

using namespace usmp;

constexpr size_t kBuffers = 150;
constexpr size_t kStack = 1 << 20;
// Too few for buffer 74 and buffer 149, of which neither may lie over the other.
constexpr int64_t kCapacity = 199;

void* Search(void*) {
  Problem problem;
  problem.pools = {{"pool", kNoLimit, false}};
  for (size_t b = 0; b < kBuffers; ++b) {
    problem.buffers.push_back({"", 50 + static_cast<int64_t>(b), 1, {}, {0}, {{0, 1}}});
    for (size_t k = 1; k < kBuffers / 2; ++k) {
      problem.overlaps.push_back({b, (b + k) % kBuffers, 0});
    }
  }
  std::vector<size_t> members(kBuffers);
  std::iota(members.begin(), members.end(), 0);
  Budget budget(20'000'000);
  Offsets offsets;
  const Verdict verdict =
      PlaceWithin(MakePoolProblem(problem, 0, members), kCapacity, &budget, &offsets);
  std::printf("%d", verdict != Verdict::kPlaced);
  return nullptr;
}

int main() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, Search, nullptr) != 0) return 1;
  pthread_join(thread, nullptr);
}
"""


def test_exact_search_finds_and_proves_the_optimum_without_any_of_its_rules(tmp_path):
    assert run_with_reference(AGAINST_OPTIMUM, tmp_path) == "1"


def test_overlaps_that_go_round_in_circles_do_not_exhaust_the_stack(tmp_path):
    assert run_with_solver(CIRCLE, tmp_path) == "1"
