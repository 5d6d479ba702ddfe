#include "extent.h"

#include <algorithm>

namespace usmp {

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
