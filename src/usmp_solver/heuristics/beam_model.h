// One pool as beam search reads it: lengths in a common unit, who meets whom, and where.
#ifndef USMP_SOLVER_HEURISTICS_BEAM_MODEL_H_
#define USMP_SOLVER_HEURISTICS_BEAM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief A list of lists, one behind the other. */
template <typename T>
class Rows {
 public:
  explicit Rows(const std::vector<std::vector<T>>& rows) : starts_{0} {
    for (const std::vector<T>& row : rows) {
      values_.insert(values_.end(), row.begin(), row.end());
      starts_.push_back(values_.size());
    }
  }
  const T* begin(int32_t row) const { return values_.data() + starts_[row]; }
  const T* end(int32_t row) const { return values_.data() + starts_[row + 1]; }

 private:
  std::vector<size_t> starts_;
  std::vector<T> values_;
};

struct BeamModel {
  /*! \brief Bytes in a unit: what divides all sizes, pins and distances, and leaves alignments
   *         as they are. */
  int64_t unit;
  int32_t num_items;
  int32_t num_sections;
  /*! \brief By item, in units. */
  std::vector<int32_t> sizes;
  std::vector<int32_t> alignments;
  /*! \brief By item, the place that it is pinned to; -1 if it is not. */
  std::vector<int32_t> pins;
  /*! \brief Sections of each item, and of each section the items that are not pinned, ascending. */
  Rows<int32_t> sections;
  Rows<int32_t> members;
  /*! \brief By item, all that it conflicts with and that may not start inside it; but for those
   *         that are pinned. */
  Rows<int32_t> neighbors;

  /*! \brief An item that may start `distance` above the start of another, though it conflicts. */
  struct Input {
    int32_t item;
    int32_t distance;
  };
  Rows<Input> inputs;

  /*! \brief Bytes that two items may share, in units. */
  struct Shared {
    int32_t item;
    int32_t amount;
  };
  Rows<Shared> shared;

  /*! \brief An item may not start above `after` and below `until`: a pinned item is in the way. */
  struct Forbidden {
    int32_t after;
    int32_t until;
  };
  /*! \brief By item, sorted. */
  Rows<Forbidden> forbidden;

  /*! \brief First section of any neighbor of the item, and the one behind the last. */
  struct Reach {
    int32_t begin;
    int32_t end;
  };
  std::vector<Reach> reach;

  /*! \brief The lowest start at or above `position` that alignment and pins allow. */
  int32_t Next(int32_t item, int32_t position) const {
    const int32_t alignment = alignments[item];
    if (alignment > 1) position = AlignedUp(position, alignment);
    for (const Forbidden* it = forbidden.begin(item); it != forbidden.end(item); ++it) {
      if (position <= it->after) break;
      if (position < it->until) position = AlignedUp(it->until, alignment);
    }
    return position;
  }

  static int32_t AlignedUp(int32_t position, int32_t alignment) {
    const int32_t beyond = position % alignment;
    return beyond == 0 ? position : position + alignment - beyond;
  }
};

/*!
 * \brief The model for places up to `peak` bytes.
 *
 * \return nothing if the problem is too large for beam search: in items that meet, or in units.
 */
std::optional<BeamModel> MakeBeamModel(const PoolProblem& problem, int64_t peak);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_BEAM_MODEL_H_
