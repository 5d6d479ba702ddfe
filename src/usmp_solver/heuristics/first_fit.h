// First fit: place the buffers in a given order, each at its lowest free offset.
//
// The lowest free offset is the lowest multiple of the buffer's alignment without a collision with
// a placed buffer that conflicts. It may be in a gap. The pool is the first candidate, in the
// user's order, in which the buffer ends within the limit. Pinned buffers come first, at their
// offsets.
//
// If a buffer has no place, earlier buffers try their other candidate pools, the latest first,
// within a fixed amount of work. The first attempt moves only buffers that stand in the way, the
// second attempt any buffer. So a buffer with a single candidate is not starved by a buffer that
// had a choice.
#ifndef USMP_SOLVER_HEURISTICS_FIRST_FIT_H_
#define USMP_SOLVER_HEURISTICS_FIRST_FIT_H_

#include <functional>
#include <optional>
#include <vector>

#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief The result of an algorithm. */
struct Solution {
  /*! \brief By buffer. If `unplaced` is set: the placements when that buffer did not fit. */
  std::vector<std::optional<Placement>> placements;
  /*! \brief The first buffer that did not fit, if any. */
  std::optional<size_t> unplaced;
  /*! \brief Offset of the unplaced buffer in each candidate pool if it had no limit. */
  std::vector<std::optional<int64_t>> unplaced_offsets;
  /*! \brief By pool, the least end of a buffer that its limit refused, or the largest int64. A
   *         limit between the present one and this end would have given the same result. */
  std::vector<int64_t> refused;
  /*! \brief By pool, the highest end of a buffer that was placed there, even temporarily. */
  std::vector<int64_t> highest_ends;
  /*! \brief Visits to placed buffers: a measure of time that is the same on every machine. */
  int64_t work;
};

/*! \brief A deterministic algorithm, from a problem and its conflict graph to a solution. */
using Algorithm = std::function<Solution(const Problem&, const ConflictGraph&)>;

/*! \brief Places buffers one after the other. */
class Placer {
 public:
  Placer(const Problem& problem, const ConflictGraph& conflicts);

  /*! \brief Continue from given placements. */
  Placer(const Problem& problem, const ConflictGraph& conflicts,
         std::vector<std::optional<Placement>> placements);

  /*! \brief From now on, make buffers avoid only buffers with a smaller rank. */
  void RankBy(const std::vector<size_t>* ranks) { ranks_ = ranks; }

  /*! \brief Return the lowest free offset of the buffer, ignoring the limit of the pool; nullopt if
   *         its pin is occupied or its end overflows int64. */
  std::optional<int64_t> LowestOffset(size_t buffer, size_t pool);

  /*! \brief Place the buffer at the offset, if the limit of the pool permits. */
  bool TryPlace(size_t buffer, size_t pool, int64_t offset);

  /*! \brief Place the buffer at its lowest free offset in the pool, if the limit permits. */
  bool TryPlace(size_t buffer, size_t pool);

  /*! \brief Place the buffer in the first candidate pool with enough space. */
  bool TryPlace(size_t buffer);

  /*! \brief Place the buffer in its last candidate pool beyond any limit, if it has an offset. */
  bool PlaceBeyondLimit(size_t buffer);

  void Remove(size_t buffer) { placements_[buffer].reset(); }

  /*! \brief Put the buffer back at an earlier placement. */
  void Restore(size_t buffer, const std::optional<Placement>& placement) {
    placements_[buffer] = placement;
  }

  const std::vector<std::optional<Placement>>& placements() const { return placements_; }
  int64_t work() const { return work_; }

  /*! \brief Return the solution so far; `unplaced` is the first buffer that did not fit, if any. */
  Solution Result(std::optional<size_t> unplaced) const {
    return {placements_, unplaced, {}, refused_, highest_ends_, work_};
  }

 private:
  /*! \brief An open range of occupied offsets. */
  struct Taken {
    int64_t low;
    int64_t high;
  };

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  std::vector<std::optional<Placement>> placements_;
  std::vector<int64_t> refused_;
  std::vector<int64_t> highest_ends_;
  /*! \brief By buffer; null if buffers avoid all placed buffers. */
  const std::vector<size_t>* ranks_ = nullptr;
  std::vector<Taken> taken_;
  int64_t work_ = 0;
};

/*! \brief Place the buffers in the given order. */
Solution FirstFit(const Problem& problem, const ConflictGraph& conflicts,
                  const std::vector<size_t>& order);

/*! \brief Return the order with the pinned buffers moved to the front. */
std::vector<size_t> PinnedFirst(const Problem& problem, std::vector<size_t> order);

/*! \brief Return the highest end of a placed buffer with bytes, by pool. */
std::vector<int64_t> Peaks(const Problem& problem,
                           const std::vector<std::optional<Placement>>& placements);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_FIRST_FIT_H_
