// The placement problem in plain numbers: what a solver reads, and what it answers.
//
// `MakeProblem` turns Array<BufferInfo> into vectors of integers, so that solvers never touch a
// reference count; `MakePlan` turns their answer back. In between, buffers and pools are indices:
// buffers in input order, pools in the order in which candidates first name them.
//
// All bytes are int64, and additions that make a position are checked: one that does not fit int64
// is no position (nullopt), never a wrapped number.
#ifndef USMP_PROBLEM_H_
#define USMP_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objects.h"

namespace usmp {

struct Problem {
  struct Pool {
    PoolInfo info;
    /*! \brief Bytes that may be used; the largest int64 if the user set no size hint. */
    int64_t limit;
  };

  /*!
   * \brief A buffer that this one has to keep clear of in a pool that holds both.
   *
   * This one may start at least `below` bytes before the other starts, or at least `above` bytes
   * after. These are the sizes of this one and of the other, but for a safe overlap of one of them.
   */
  struct Conflict {
    size_t buffer;
    int64_t below;
    int64_t above;
  };

  struct Buffer {
    std::string name;
    int64_t size;
    int64_t alignment;
    /*! \brief The offset that the user pinned the buffer to. */
    std::optional<int64_t> fixed_offset;
    /*! \brief Candidate pools, best first; never empty. */
    std::vector<size_t> pools;
    /*! \brief Sorted by buffer, without this one, and mutual even where only one of the two listed
     *         the other. */
    std::vector<Conflict> conflicts;
  };

  std::vector<Pool> pools;
  std::vector<Buffer> buffers;
};

/*! \brief The place of one buffer: an index into `Problem::pools` and a byte offset. */
struct Placement {
  size_t pool;
  int64_t offset;
};

/*!
 * \brief Read the buffers.
 *
 * Conflicts with buffers outside the array are dropped: they constrain nothing.
 * Throws ValueError if a buffer has no candidate or is listed twice, or if two pools of one
 * name differ in kind or size hint (the emitted code would give both the same memory).
 */
Problem MakeProblem(const ffi::Array<BufferInfo>& buffers);

/*! \brief Write the plan, in the order of the buffers. */
ffi::Map<BufferInfo, PoolAllocation> MakePlan(const ffi::Array<BufferInfo>& buffers,
                                              const Problem& problem,
                                              const std::vector<Placement>& placements);

/*! \brief The sum, if it is an int64. */
std::optional<int64_t> CheckedAdd(int64_t lhs, int64_t rhs);

/*! \brief The smallest multiple of `alignment` that is at least `position`, if it is an int64. */
std::optional<int64_t> AlignUp(int64_t position, int64_t alignment);

}  // namespace usmp

#endif  // USMP_PROBLEM_H_
