// The placement problem in plain numbers: what the solvers read.
//
// Buffers and pools are indices: buffers in input order, pools from the most to the least
// preferred. Sizes, offsets and alignments are bytes, int64 throughout; additions that make a
// position are checked: one that does not fit int64 is no position (nullopt), never a wrapped
// number.
#ifndef USMP_SOLVER_MODEL_PROBLEM_H_
#define USMP_SOLVER_MODEL_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace usmp {

/*! \brief Bytes of a pool that has no limit. */
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Problem {
  struct Pool {
    std::string name;
    /*! \brief Bytes that may be used. */
    int64_t limit = kNoLimit;
    /*! \brief Holds constants. Memory pressure and peaks are about the other pools. */
    bool is_constant = false;
  };

  /*! \brief Half-open span [start, stop) of program positions. */
  struct LiveRange {
    int64_t start;
    int64_t stop;
  };

  struct Buffer {
    std::string name;
    int64_t size;
    int64_t alignment = 1;
    /*! \brief The offset that the buffer is pinned to, in whichever pool holds it. */
    std::optional<int64_t> fixed_offset;
    /*! \brief Candidate pools, best first; never empty. */
    std::vector<size_t> pools;
    /*! \brief When the content matters; may be several, in any order, even overlapping. */
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
   * Of two buffers that conflict. 0 is the in-place case, the size of the output is none.
   */
  struct Overlap {
    size_t output;
    size_t input;
    int64_t distance;
  };

  std::vector<Pool> pools;
  std::vector<Buffer> buffers;
  /*! \brief Beyond live ranges: two buffers with a live range in common conflict too. */
  std::vector<Conflict> conflicts;
  std::vector<Overlap> overlaps;
};

/*! \brief The place of one buffer: an index into `Problem::pools` and a byte offset. */
struct Placement {
  size_t pool;
  int64_t offset;
};

/*! \brief The sum, if it is an int64. */
std::optional<int64_t> CheckedAdd(int64_t lhs, int64_t rhs);

/*! \brief The sum; kNoLimit if it is larger. */
int64_t ClampedAdd(int64_t lhs, int64_t rhs);

/*! \brief The smallest multiple of `alignment` that is at least `position`, if it is an int64. */
std::optional<int64_t> AlignUp(int64_t position, int64_t alignment);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_PROBLEM_H_
