#include "usmp_solver/tests/one_pool.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "usmp_solver/tests/reference.h"

namespace usmp {

namespace {

/*! \brief Random numbers, and the features of the problem of a seed. */
struct Draw {
  explicit Draw(uint64_t seed) : random(seed) {
    unit = Below(3) == 0 ? 4 : 1;
    largest = Below(2) == 0 ? 5 : 24;
    has_alignments = Below(2) == 0;
    has_pins = Below(4) == 0;
    has_pairs = Below(2) == 0;
    has_overlaps = Below(2) == 0;
  }

  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  }

  std::mt19937_64 random;
  int64_t unit;
  int64_t largest;
  bool has_alignments;
  bool has_pins;
  bool has_pairs;
  bool has_overlaps;
};

Problem::Buffer DrawBuffer(int64_t time, Draw* draw) {
  constexpr std::array<int64_t, 6> kAlignments = {1, 2, 3, 4, 8, 16};
  Problem::Buffer buffer;
  buffer.size = (1 + draw->Below(draw->largest)) * draw->unit;
  if (draw->has_alignments) buffer.alignment = kAlignments[draw->Below(kAlignments.size())];
  if (draw->has_pins && draw->Below(3) == 0) {
    const int64_t place = draw->Below(40) * draw->unit;
    buffer.fixed_offset = place - place % buffer.alignment;
  }
  buffer.pools = {0};
  for (int64_t k = draw->has_pairs ? draw->Below(2) : 1 + draw->Below(3) / 2; k > 0; --k) {
    const int64_t start = draw->Below(time);
    buffer.live_ranges.push_back({start, start + 1 + draw->Below(time)});
  }
  return buffer;
}

}  // namespace

OnePool DrawOnePool(uint64_t seed, int64_t most_buffers) {
  Draw draw(seed);
  OnePool drawn;
  Problem& problem = drawn.problem;
  problem.pools = {{"pool", kNoLimit, false}};
  const int64_t buffers = 1 + draw.Below(most_buffers);
  const int64_t time = 1 + draw.Below(2 * buffers);
  for (int64_t b = 0; b < buffers; ++b) problem.buffers.push_back(DrawBuffer(time, &draw));
  // About the same number of partners for each buffer, whatever the number of buffers.
  const int64_t rarity = 1 + buffers / 2;
  for (size_t a = 0; a < problem.buffers.size(); ++a) {
    for (size_t b = 0; b < problem.buffers.size(); ++b) {
      if (a == b) continue;
      if (draw.has_pairs && draw.Below(rarity) == 0) problem.conflicts.push_back({a, b});
      if (!draw.has_overlaps || draw.Below(rarity) > 0) continue;
      const int64_t size = problem.buffers[a].size;
      problem.overlaps.push_back({a, b, draw.Below(3) == 0 ? 0 : draw.Below(size + 1)});
    }
  }
  std::vector<size_t> members(problem.buffers.size());
  std::iota(members.begin(), members.end(), 0);
  drawn.pool = MakePoolProblem(problem, 0, members);
  return drawn;
}

bool PinsCollide(const OnePool& drawn) {
  std::vector<size_t> pinned;
  std::vector<Placement> pins;
  for (size_t b = 0; b < drawn.problem.buffers.size(); ++b) {
    const auto& pin = drawn.problem.buffers[b].fixed_offset;
    if (!pin.has_value()) continue;
    pinned.push_back(b);
    pins.push_back({0, *pin});
  }
  return FindFault(Restrict(drawn.problem, pinned), pins).has_value();
}

int64_t LowestPeak(const OnePool& drawn) {
  // No plan needs to be higher: all unpinned buffers fit above all pins.
  int64_t highest_pin = 0;
  int64_t stacked = 0;
  for (const Problem::Buffer& buffer : drawn.problem.buffers) {
    highest_pin = std::max(highest_pin, buffer.fixed_offset.value_or(0));
    stacked += buffer.size + buffer.alignment;
  }
  Problem limited = drawn.problem;
  limited.pools[0].limit = highest_pin + stacked;
  const auto optimum = FindOptimum(limited, std::numeric_limits<int64_t>::max());
  return optimum->feasible ? optimum->peaks[0] : kNoLimit;
}

std::optional<std::string> FindFault(const OnePool& drawn, const Offsets& offsets,
                                     int64_t capacity) {
  if (offsets.size() != drawn.pool.items.size()) return "not as many offsets as items";
  Problem limited = drawn.problem;
  limited.pools[0].limit = capacity;
  std::vector<Placement> placements(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) placements[drawn.pool.buffers[i]] = {0, offsets[i]};
  return FindFault(limited, placements);
}

}  // namespace usmp
