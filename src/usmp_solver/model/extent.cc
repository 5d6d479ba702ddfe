#include "usmp_solver/model/extent.h"

#include <algorithm>

namespace usmp {

bool FitsNowhere(const Problem& problem, const Problem::Buffer& buffer) {
  const int64_t end = buffer.fixed_offset.value_or(0) + buffer.size;
  return std::all_of(buffer.pools.begin(), buffer.pools.end(),
                     [&](size_t pool) { return problem.pools[pool].limit < end; });
}

int64_t Extent(const Problem& problem, const std::vector<size_t>& members) {
  int64_t pinned = 0;
  int64_t row = 0;
  for (size_t b : members) {
    const Problem::Buffer& buffer = problem.buffers[b];
    if (buffer.size == 0) continue;
    if (buffer.fixed_offset) {
      pinned = std::max(pinned, *buffer.fixed_offset + buffer.size);
      if (pinned > kMaxExtent) return kNoLimit;
    } else {
      if (buffer.size > kMaxExtent || buffer.alignment > kMaxExtent) return kNoLimit;
      row += buffer.size + (buffer.alignment - 1);
      if (row > kMaxExtent) return kNoLimit;
    }
  }
  return pinned + row;
}

}  // namespace usmp
