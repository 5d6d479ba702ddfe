#include "draw_problem.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

namespace usmp {

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

/*! \brief How the numbers of one problem are drawn. */
struct Manner {
  /*! \brief Sizes and limits are multiples of it: real sizes are, and sums become equal. */
  int64_t unit;
  /*! \brief Numbers near the ends of the 64 bits, too. */
  bool is_large;
  /*! \brief Numbers and indices out of their ranges, too. */
  bool is_wild;
};

int64_t DrawWild(ByteReader* bytes) {
  constexpr std::array<int64_t, 8> kWild = {0,       -1,           kLargest,  kLargest - 1,
                                            1 << 30, kLargest / 2, kSmallest, kSmallest + 1};
  return kWild[bytes->Below(kWild.size())];
}

int64_t DrawSize(const Manner& manner, ByteReader* bytes) {
  if (manner.is_wild && bytes->OnceIn(16)) return DrawWild(bytes);
  const int64_t small = bytes->Below(24) * manner.unit;
  return manner.is_large && bytes->OnceIn(4) ? kLargest / (1 + bytes->Below(8)) - small : small;
}

int64_t DrawAlignment(const Manner& manner, ByteReader* bytes) {
  constexpr std::array<int64_t, 8> kAlignments = {1, 1, 1, 2, 3, 4, 8, 16};
  if (manner.is_wild && bytes->OnceIn(16)) return DrawWild(bytes);
  return kAlignments[bytes->Below(kAlignments.size())];
}

Problem::LiveRange DrawRange(const Manner& manner, ByteReader* bytes) {
  const int64_t first = bytes->Below(12);
  const int64_t length = 1 + bytes->Below(6);
  if (manner.is_wild && bytes->OnceIn(16)) return {DrawWild(bytes), DrawWild(bytes)};
  if (manner.is_large && bytes->OnceIn(8)) return {kSmallest + first, kLargest - length};
  return {first, first + length};
}

size_t DrawIndex(const Manner& manner, size_t bound, ByteReader* bytes) {
  if (manner.is_wild && bytes->OnceIn(16)) return static_cast<size_t>(DrawWild(bytes));
  return static_cast<size_t>(bytes->Below(static_cast<int64_t>(std::max<size_t>(bound, 1))));
}

Problem::Buffer DrawBuffer(const Manner& manner, size_t pools, ByteReader* bytes) {
  Problem::Buffer buffer;
  buffer.size = DrawSize(manner, bytes);
  buffer.alignment = DrawAlignment(manner, bytes);
  if (bytes->OnceIn(6)) {
    const int64_t place = bytes->Below(32) * manner.unit;
    buffer.fixed_offset = buffer.alignment > 0 ? place - place % buffer.alignment : place;
    if (manner.is_wild && bytes->OnceIn(8)) buffer.fixed_offset = DrawWild(bytes);
  }
  const size_t first = DrawIndex(manner, pools, bytes);
  buffer.pools.push_back(first);
  for (size_t pool = 0; pool < pools; ++pool) {
    if (pool != first && bytes->OnceIn(2)) buffer.pools.push_back(pool);
  }
  if (manner.is_wild && bytes->OnceIn(16)) buffer.pools.clear();
  const int64_t ranges = std::array<int64_t, 4>{1, 1, 2, 0}[bytes->Below(4)];
  for (int64_t i = 0; i < ranges; ++i) buffer.live_ranges.push_back(DrawRange(manner, bytes));
  return buffer;
}

void DrawPairs(const Manner& manner, ByteReader* bytes, Problem* problem) {
  const size_t n = problem->buffers.size();
  for (int64_t i = n == 0 ? 0 : bytes->Below(2 * n); i > 0; --i) {
    const size_t first = DrawIndex(manner, n, bytes);
    const size_t second = DrawIndex(manner, n, bytes);
    if (first != second || manner.is_wild) problem->conflicts.push_back({first, second});
  }
  std::set<std::pair<size_t, size_t>> drawn;
  for (int64_t i = n == 0 ? 0 : bytes->Below(n); i > 0; --i) {
    const size_t output = DrawIndex(manner, n, bytes);
    const size_t input = DrawIndex(manner, n, bytes);
    int64_t distance = output < n ? std::max<int64_t>(problem->buffers[output].size, 0) : 0;
    distance = std::min(distance, bytes->Below(24) * manner.unit);
    if (manner.is_wild && bytes->OnceIn(16)) distance = DrawWild(bytes);
    const bool is_new = output != input && drawn.insert({output, input}).second;
    if (is_new || manner.is_wild) problem->overlaps.push_back({output, input, distance});
  }
}

}  // namespace

Problem DrawProblem(ByteReader* bytes) {
  constexpr std::array<int64_t, 4> kUnits = {1, 1, 16, 1024};
  const Manner manner{kUnits[bytes->Below(kUnits.size())], bytes->OnceIn(4), bytes->OnceIn(4)};
  Problem problem;
  const int64_t pools = bytes->Below(4);
  // No pool at all is not well formed unless there is no buffer.
  for (int64_t i = 0; i < (manner.is_wild ? pools : std::max<int64_t>(pools, 1)); ++i) {
    Problem::Pool pool;
    pool.name = "pool" + std::to_string(i);
    if (!bytes->OnceIn(3)) pool.limit = bytes->Below(80) * manner.unit;
    if (manner.is_wild && bytes->OnceIn(8)) pool.limit = DrawWild(bytes);
    pool.is_constant = bytes->OnceIn(8);
    problem.pools.push_back(pool);
  }
  // Mostly a few, for which the reference finds the best plan.
  const int64_t buffers = bytes->OnceIn(4) ? bytes->Below(64) : bytes->Below(9);
  for (int64_t i = 0; i < buffers; ++i) {
    problem.buffers.push_back(DrawBuffer(manner, problem.pools.size(), bytes));
    problem.buffers.back().name = "b" + std::to_string(i);
  }
  DrawPairs(manner, bytes, &problem);
  return problem;
}

std::string Describe(const Problem& problem) {
  std::ostringstream text;
  for (const Problem::Pool& pool : problem.pools) {
    text << "pool limit=" << pool.limit << " is_constant=" << pool.is_constant << "\n";
  }
  for (const Problem::Buffer& buffer : problem.buffers) {
    text << "buffer size=" << buffer.size << " alignment=" << buffer.alignment;
    if (buffer.fixed_offset.has_value()) text << " fixed_offset=" << *buffer.fixed_offset;
    text << " pools=";
    for (size_t pool : buffer.pools) text << pool << ",";
    text << " live_ranges=";
    for (const auto& range : buffer.live_ranges) text << range.start << "-" << range.stop << ",";
    text << "\n";
  }
  for (const Problem::Conflict& conflict : problem.conflicts) {
    text << "conflict " << conflict.first << " " << conflict.second << "\n";
  }
  for (const Problem::Overlap& overlap : problem.overlaps) {
    text << "overlap output=" << overlap.output << " input=" << overlap.input
         << " distance=" << overlap.distance << "\n";
  }
  return text.str();
}

}  // namespace usmp
