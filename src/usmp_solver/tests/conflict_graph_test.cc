// Conflicts from live ranges against a comparison of every pair.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/improvement/hill_climb.h"
#include "usmp_solver/tests/cases.h"

namespace usmp {

namespace {

/*! \brief Return a random problem, for half of the seeds with several live ranges. */
Problem RandomProblem(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  Problem problem;
  problem.pools = {{"fast", 40 + draw(200), false}, {"slow", kNoLimit, false}};
  for (size_t b = 0; b < count; ++b) {
    Problem::Buffer buffer{"b" + std::to_string(draw(9)), draw(40), 1 + draw(8), {}, {0, 1}, {}};
    if (draw(8) == 0) buffer.pools = {1};
    if (draw(20) == 0) buffer.fixed_offset = buffer.alignment * draw(9);
    for (int64_t k = draw(seed % 2 == 0 ? 2 : 5); k >= 0; --k) {
      const int64_t start = draw(2 * count);
      buffer.live_ranges.push_back({start, start + draw(12)});
    }
    if (seed % 2 == 0 || draw(9) == 0) buffer.live_ranges.resize(seed % 3 == 0 ? 0 : 1);
    problem.buffers.push_back(buffer);
  }
  for (int64_t k = draw(2) * draw(2 * count); k > 0; --k) {
    problem.conflicts.push_back({size_t(draw(count)), size_t(draw(count))});
  }
  for (int64_t k = draw(count); k > 0; --k) {
    const size_t output = draw(count);
    problem.overlaps.push_back(
        {output, size_t(draw(count)), draw(problem.buffers[output].size + 1)});
  }
  return problem;
}

using Distances = std::map<size_t, std::pair<int64_t, int64_t>>;

bool LiveTogether(const Problem::Buffer& lhs, const Problem::Buffer& rhs) {
  for (const Problem::LiveRange& a : lhs.live_ranges) {
    for (const Problem::LiveRange& b : rhs.live_ranges) {
      for (int64_t t = a.start; t < a.stop; ++t) {
        if (b.start <= t && t < b.stop) return true;
      }
    }
  }
  return false;
}

int64_t Separation(const Problem& problem, size_t output, size_t input) {
  int64_t separation = problem.buffers[output].size;
  for (const Problem::Overlap& overlap : problem.overlaps) {
    if (overlap.output != output || overlap.input != input) continue;
    if (overlap.distance < separation) separation = overlap.distance;
  }
  return separation;
}

Distances Expected(const Problem& problem, size_t buffer) {
  Distances expected;
  for (size_t other = 0; other < problem.buffers.size(); ++other) {
    bool conflict = LiveTogether(problem.buffers[buffer], problem.buffers[other]);
    for (const Problem::Conflict& pair : problem.conflicts) {
      conflict |= pair.first == buffer && pair.second == other;
      conflict |= pair.first == other && pair.second == buffer;
    }
    if (!conflict || other == buffer) continue;
    expected[other] = {Separation(problem, buffer, other), Separation(problem, other, buffer)};
  }
  return expected;
}

}  // namespace

TEST_CASE("neighbors and distances are those of every pair") {
  size_t conflicts = 0;
  const int cases = Cases(400);
  for (int seed = 0; seed < cases; ++seed) {
    const Problem problem = RandomProblem(seed, 1 + seed % 40);
    for (size_t most_stored : {size_t(0), ConflictGraph::kMostStored}) {
      const ConflictGraph graph(problem, most_stored);
      for (size_t b = 0; b < problem.buffers.size(); ++b) {
        const Distances expected = Expected(problem, b);
        Distances found;
        size_t visits = 0;
        graph.ForEach(b, [&](const ConflictGraph::Neighbor& neighbor) {
          found[neighbor.buffer] = {neighbor.below, neighbor.above};
          ++visits;
        });
        REQUIRE(found == expected);
        REQUIRE(visits == expected.size());
        REQUIRE(graph.Degree(b) == visits);
        size_t rank = 0;
        for (const auto& [other, distances] : expected) {
          REQUIRE(graph.NeighborAt(b, rank++) == other);
        }
        conflicts += visits;
      }
    }
  }
  CHECK(conflicts > 125 * cases);
}

namespace {

bool Same(const Solution& lhs, const Solution& rhs) {
  for (size_t b = 0; b < lhs.placements.size(); ++b) {
    if (lhs.placements[b].has_value() != rhs.placements[b].has_value()) return false;
    if (!lhs.placements[b]) continue;
    if (lhs.placements[b]->pool != rhs.placements[b]->pool) return false;
    if (lhs.placements[b]->offset != rhs.placements[b]->offset) return false;
  }
  return lhs.unplaced == rhs.unplaced && lhs.refused == rhs.refused && lhs.work == rhs.work;
}

}  // namespace

TEST_CASE("plans are the same whether or not conflicts are stored") {
  size_t placed = 0;
  const int cases = Cases(300);
  for (int seed = 0; seed < cases; ++seed) {
    const Problem problem = RandomProblem(seed, 1 + seed % 60);
    const ConflictGraph in_the_tree(problem, 0);
    const ConflictGraph stored(problem);
    const auto climb = [](const Problem& p, const ConflictGraph& c) { return HillClimb(p, c, 0); };
    for (const Algorithm& algorithm : {Algorithm(GreedyBySize), Algorithm(GreedyByConflicts),
                                       Algorithm(NoSharing), Algorithm(climb)}) {
      const Solution solution = algorithm(problem, stored);
      REQUIRE(Same(solution, algorithm(problem, in_the_tree)));
      placed += !solution.unplaced;
    }
  }
  CHECK(placed > 2 * cases);
}

}  // namespace usmp
