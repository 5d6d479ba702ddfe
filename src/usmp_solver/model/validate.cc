#include "usmp_solver/model/validate.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace usmp {

namespace {

template <typename... Words>
[[noreturn]] void Refuse(const Words&... words) {
  std::ostringstream message;
  (message << ... << words);
  throw std::invalid_argument(message.str());
}

/*! \brief Return the name of the buffer for messages, or its number if it has no name. */
std::string Called(const Problem& problem, size_t buffer) {
  const std::string& name = problem.buffers[buffer].name;
  return name.empty() ? "buffer number " + std::to_string(buffer) : "buffer '" + name + "'";
}

void ValidatePin(const Problem& problem, size_t b) {
  const Problem::Buffer& buffer = problem.buffers[b];
  const int64_t offset = *buffer.fixed_offset;
  if (offset < 0) Refuse(Called(problem, b), " is pinned to the negative offset ", offset);
  if (offset % buffer.alignment != 0) {
    Refuse(Called(problem, b), " is pinned to offset ", offset,
           ", which is no multiple of its alignment ", buffer.alignment);
  }
  if (!CheckedAdd(offset, buffer.size)) {
    Refuse(Called(problem, b), " is pinned to offset ", offset, " and ends beyond 64 bits");
  }
}

void ValidatePools(const Problem& problem, size_t b) {
  std::vector<size_t> pools = problem.buffers[b].pools;
  if (pools.empty()) Refuse(Called(problem, b), " has no candidate pool");
  std::sort(pools.begin(), pools.end());
  if (pools.back() >= problem.pools.size()) {
    Refuse(Called(problem, b), " names pool number ", pools.back(), " of ", problem.pools.size());
  }
  if (std::adjacent_find(pools.begin(), pools.end()) != pools.end()) {
    Refuse(Called(problem, b), " names a candidate pool twice");
  }
}

void ValidateBuffer(const Problem& problem, size_t b) {
  const Problem::Buffer& buffer = problem.buffers[b];
  if (buffer.size < 0) Refuse(Called(problem, b), " has the negative size ", buffer.size);
  if (buffer.alignment < 1) {
    Refuse(Called(problem, b), " has alignment ", buffer.alignment, ", which is less than 1");
  }
  ValidatePools(problem, b);
  for (const Problem::LiveRange& range : buffer.live_ranges) {
    if (range.start >= range.stop) {
      Refuse(Called(problem, b), " has the empty live range [", range.start, ", ", range.stop, ")");
    }
  }
  if (buffer.fixed_offset) ValidatePin(problem, b);
}

void ValidatePair(const Problem& problem, size_t first, size_t second, const char* what) {
  const size_t num_buffers = problem.buffers.size();
  if (std::max(first, second) >= num_buffers) {
    Refuse(what, " names buffer number ", std::max(first, second), " of ", num_buffers);
  }
  if (first == second) Refuse(what, " of ", Called(problem, first), " with itself");
}

void ValidateOverlaps(const Problem& problem) {
  std::vector<std::pair<size_t, size_t>> pairs;
  pairs.reserve(problem.overlaps.size());
  for (const Problem::Overlap& overlap : problem.overlaps) {
    ValidatePair(problem, overlap.output, overlap.input, "an overlap");
    if (overlap.distance < 0 || overlap.distance > problem.buffers[overlap.output].size) {
      Refuse(Called(problem, overlap.output), " may overlap from distance ", overlap.distance,
             ", which is not between 0 and its size");
    }
    pairs.emplace_back(overlap.output, overlap.input);
  }
  std::sort(pairs.begin(), pairs.end());
  const auto twice = std::adjacent_find(pairs.begin(), pairs.end());
  if (twice != pairs.end()) {
    Refuse("two overlaps of ", Called(problem, twice->first), " with ",
           Called(problem, twice->second));
  }
}

}  // namespace

void Validate(const Problem& problem) {
  for (const Problem::Pool& pool : problem.pools) {
    if (pool.limit < 0) Refuse("pool '", pool.name, "' has the negative limit ", pool.limit);
  }
  for (size_t b = 0; b < problem.buffers.size(); ++b) ValidateBuffer(problem, b);
  for (const Problem::Conflict& conflict : problem.conflicts) {
    ValidatePair(problem, conflict.first, conflict.second, "a conflict");
  }
  ValidateOverlaps(problem);
}

}  // namespace usmp
