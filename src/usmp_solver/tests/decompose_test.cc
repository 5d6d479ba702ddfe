// Decomposition: the parts are complete, and their best plans form a best plan of the whole.
#include "usmp_solver/model/decompose.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "usmp_solver/search/exact.h"
#include "usmp_solver/tests/cases.h"
#include "usmp_solver/tests/fail.h"
#include "usmp_solver/tests/one_pool.h"

namespace usmp {

namespace {

std::set<int32_t> SectionsOf(const PoolProblem& problem, int32_t i) {
  std::set<int32_t> sections;
  const PoolProblem::Item& item = problem.items[i];
  for (int32_t k = item.first_span; k < item.first_span + item.num_spans; ++k) {
    for (int32_t s = problem.spans[k].begin; s < problem.spans[k].end; ++s) sections.insert(s);
  }
  return sections;
}

bool Conflict(const PoolProblem& problem, int32_t a, int32_t b) {
  const std::set<int32_t> others = SectionsOf(problem, b);
  for (int32_t section : SectionsOf(problem, a)) {
    if (others.count(section) > 0) return true;
  }
  return false;
}

std::map<std::pair<int32_t, int32_t>, int64_t> OverlapDistances(const PoolProblem& problem) {
  std::map<std::pair<int32_t, int32_t>, int64_t> distances;
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    distances[{overlap.output, overlap.input}] = overlap.distance;
  }
  return distances;
}

/*! \brief Check that `selected` has the items, conflicts and overlaps of `items` in `problem`. */
void CompareSelected(int seed, const PoolProblem& problem, const std::vector<int32_t>& items,
                     const PoolProblem& selected) {
  const auto count = static_cast<int32_t>(items.size());
  if (selected.items.size() != items.size()) Fail(seed, "other items");
  auto distances = OverlapDistances(problem);
  const auto kept = OverlapDistances(selected);
  size_t overlaps = 0;
  std::set<int32_t> sections;
  for (int32_t a = 0; a < count; ++a) {
    const PoolProblem::Item& item = problem.items[items[a]];
    const PoolProblem::Item& same = selected.items[a];
    if (item.size != same.size || item.alignment != same.alignment ||
        item.fixed_offset != same.fixed_offset ||
        problem.buffers[items[a]] != selected.buffers[a]) {
      Fail(seed, "another item");
    }
    for (int32_t s : SectionsOf(selected, a)) sections.insert(s);
    for (int32_t b = 0; b < count; ++b) {
      if (a == b) continue;
      if (Conflict(problem, items[a], items[b]) != Conflict(selected, a, b)) {
        Fail(seed, "other conflicts");
      }
      const auto distance = distances.find({items[a], items[b]});
      if (distance == distances.end()) continue;
      ++overlaps;
      if (kept.count({a, b}) == 0 || kept.at({a, b}) != distance->second) {
        Fail(seed, "another overlap");
      }
    }
  }
  if (kept.size() != overlaps) Fail(seed, "more overlaps");
  if (static_cast<int32_t>(sections.size()) != selected.num_sections) {
    Fail(seed, "a section of no item");
  }
}

}  // namespace

TEST_CASE("selections and components keep all conflicts and overlaps") {
  int several = 0;
  const int cases = Cases(2000);
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 16);
    const PoolProblem& pool = drawn.pool;
    const auto count = static_cast<int32_t>(pool.items.size());
    std::mt19937_64 random(seed);
    std::vector<int32_t> chosen;
    for (int32_t i = 0; i < count; ++i) {
      if (random() % 2 == 0) chosen.push_back(i);
    }
    CompareSelected(seed, pool, chosen, Select(pool, chosen));

    const auto components = Components(pool);
    several += components.size() > 1;
    std::vector<int> component_of(count, -1);
    for (size_t c = 0; c < components.size(); ++c) {
      if (!std::is_sorted(components[c].begin(), components[c].end())) Fail(seed, "not ascending");
      for (int32_t i : components[c]) {
        if (component_of[i] >= 0) Fail(seed, "an item in two components");
        component_of[i] = static_cast<int>(c);
        if (ComponentOf(pool, i) != components[c]) Fail(seed, "another component of an item");
      }
    }
    for (int32_t a = 0; a < count; ++a) {
      if (component_of[a] < 0) Fail(seed, "an item in no component");
      for (int32_t b = 0; b < count; ++b) {
        const bool same = component_of[a] == component_of[b];
        if (!same && Conflict(pool, a, b)) Fail(seed, "a cut conflict");
      }
    }
    // Check that each component is connected: all items are reached from the first.
    for (const std::vector<int32_t>& component : components) {
      std::vector<int32_t> reached = {component.front()};
      std::set<int32_t> left(component.begin() + 1, component.end());
      for (size_t next = 0; next < reached.size(); ++next) {
        for (auto it = left.begin(); it != left.end();) {
          if (Conflict(pool, reached[next], *it)) {
            reached.push_back(*it);
            it = left.erase(it);
          } else {
            ++it;
          }
        }
      }
      if (!left.empty()) Fail(seed, "a component that falls apart");
    }
  }
  CHECK(several > cases / 20);
}

TEST_CASE("best plans of the parts are a best plan of the whole") {
  int raised = 0;
  const int cases = Cases(3000);
  for (int seed = 0; seed < cases; ++seed) {
    const OnePool drawn = DrawOnePool(seed, 7);
    const int64_t lowest = LowestPeak(drawn);
    if (lowest == kNoLimit) continue;
    PoolProblem pool = drawn.pool;
    pool.capacity = seed % 2 == 0 ? kNoLimit : lowest;
    Offsets offsets(pool.items.size(), -1);
    int64_t peak = 0;
    bool has_base = false;
    for (const Part& part : Decompose(pool)) {
      CompareSelected(seed, pool, part.items, part.problem);
      const int64_t capacity = pool.capacity == kNoLimit ? kNoLimit : pool.capacity - part.base;
      if (part.problem.capacity != capacity) Fail(seed, "another capacity");
      Budget budget(20'000'000);
      Offsets best;
      int64_t bound = 0;
      ExactSearch(part.problem).MinimizePeak(&budget, &best, &bound);
      if (best.empty()) Fail(seed, "no plan of a part");
      peak = std::max(peak, part.base + Peak(part.problem, best));
      has_base = has_base || part.base > 0;
      for (size_t i = 0; i < best.size(); ++i) {
        if (offsets[part.items[i]] >= 0) Fail(seed, "an item in two parts");
        offsets[part.items[i]] = part.base + best[i];
      }
    }
    if (const auto fault = FindFault(drawn, offsets)) Fail(seed, *fault);
    if (peak != lowest || Peak(pool, offsets) != lowest) Fail(seed, "not the best plan");
    raised += has_base;
  }
  CHECK(raised > cases / 10);
}

}  // namespace usmp
