// The placement problem in plain numbers, as the solvers read it.
//
// Buffers and pools are indices: buffers in input order, pools from the most to the least
// preferred. Sizes, offsets and alignments are bytes, as int64. Additions of positions are checked:
// a sum that overflows int64 is nullopt, never a wrapped number.
#ifndef USMP_SOLVER_MODEL_PROBLEM_H_
#define USMP_SOLVER_MODEL_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace usmp {

/*! \brief The limit of a pool without a limit. */
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Problem {
  struct Pool {
    std::string name;
    /*! \brief Size of the pool in bytes. */
    int64_t limit = kNoLimit;
    /*! \brief Whether it holds constants. Memory pressure and peaks count the other pools. */
    bool is_constant = false;
  };

  /*! \brief Half-open range [start, stop) of program positions. */
  struct LiveRange {
    int64_t start;
    int64_t stop;
  };

  struct Buffer {
    std::string name;
    int64_t size;
    int64_t alignment = 1;
    /*! \brief The offset to which the buffer is pinned, in whichever pool holds it. */
    std::optional<int64_t> fixed_offset;
    /*! \brief Candidate pools, best first; never empty. */
    std::vector<size_t> pools;
    /*! \brief Live ranges in any order, which may intersect. */
    std::vector<LiveRange> live_ranges;
  };

  /*! \brief Two buffers that may not share bytes, whether or not they are live together. */
  struct Conflict {
    size_t first;
    size_t second;
  };

  /*!
   * \brief A safe overlap: `output` may start `distance` or more bytes below the dying `input`.
   *
   * The two buffers conflict. A distance of 0 is the in-place case; the size of the output means no
   * overlap.
   */
  struct Overlap {
    size_t output;
    size_t input;
    int64_t distance;
  };

  std::vector<Pool> pools;
  std::vector<Buffer> buffers;
  /*! \brief Conflicts in addition to those of live ranges that intersect. */
  std::vector<Conflict> conflicts;
  std::vector<Overlap> overlaps;
};

/*! \brief The place of one buffer: an index into `Problem::pools` and a byte offset. */
struct Placement {
  size_t pool;
  int64_t offset;
};

/*! \brief Return the sum, or nullopt if it overflows int64. */
std::optional<int64_t> CheckedAdd(int64_t lhs, int64_t rhs);

/*! \brief Return the sum, or kNoLimit if it is larger. */
int64_t ClampedAdd(int64_t lhs, int64_t rhs);

/*! \brief Return the bytes from `position`, which may be negative, to the next aligned one. */
template <typename Int>
constexpr Int Padding(Int position, Int alignment) {
  // Most alignments are 1, and divisions are slow.
  const Int beyond = alignment == 1 ? 0 : position % alignment;
  return beyond > 0 ? alignment - beyond : -beyond;
}

/*! \brief Return the smallest multiple of `alignment` at or above `position`, or nullopt. */
std::optional<int64_t> AlignUp(int64_t position, int64_t alignment);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_PROBLEM_H_
