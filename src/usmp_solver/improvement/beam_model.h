// The model of one pool for beam search: lengths in a common unit, conflicts and sections.
#ifndef USMP_SOLVER_IMPROVEMENT_BEAM_MODEL_H_
#define USMP_SOLVER_IMPROVEMENT_BEAM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief A list of lists in contiguous memory. */
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
  /*! \brief Bytes in a unit, which divides all sizes, pins and distances. */
  int64_t unit;
  int32_t num_items;
  int32_t num_sections;
  /*! \brief Sizes in units, by item. */
  std::vector<int32_t> sizes;
  std::vector<int32_t> alignments;
  /*! \brief Pinned offset in units, by item; -1 if not pinned. */
  std::vector<int32_t> pins;
  /*! \brief Sections of each item, and unpinned items of each section, ascending. */
  Rows<int32_t> sections;
  Rows<int32_t> members;
  /*! \brief Unpinned items that conflict with each item and may not start inside it. */
  Rows<int32_t> neighbors;

  /*! \brief An item that may start `distance` above the start of another, though they conflict. */
  struct Input {
    int32_t item;
    int32_t distance;
  };
  Rows<Input> inputs;

  /*! \brief The units that two items may share. */
  struct Shared {
    int32_t item;
    int32_t amount;
  };
  Rows<Shared> shared;

  /*! \brief An open range of starts that a pinned item forbids. */
  struct Forbidden {
    int32_t after;
    int32_t until;
  };
  /*! \brief By item, sorted. */
  Rows<Forbidden> forbidden;

  /*! \brief The range of sections of all neighbors of an item. */
  struct Reach {
    int32_t begin;
    int32_t end;
  };
  std::vector<Reach> reach;

  /*! \brief Return the lowest start at or above `position` that alignment and pins allow. */
  int32_t Next(int32_t item, int32_t position) const {
    const int32_t alignment = alignments[item];
    position += Padding(position, alignment);
    for (const Forbidden* it = forbidden.begin(item); it != forbidden.end(item); ++it) {
      if (position <= it->after) break;
      if (position < it->until) position = it->until + Padding(it->until, alignment);
    }
    return position;
  }
};

/*!
 * \brief Return the model for offsets up to `peak` bytes.
 *
 * \return nullopt if the problem has too many conflicts or units for beam search.
 */
std::optional<BeamModel> MakeBeamModel(const PoolProblem& problem, int64_t peak);

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_BEAM_MODEL_H_
