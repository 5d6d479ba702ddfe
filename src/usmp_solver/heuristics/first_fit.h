// First fit: give each buffer of an order, in turn, the lowest place that is free.
//
// "Free" is first fit into gaps: the lowest multiple of the buffer's own alignment at which it
// keeps clear of every placed buffer that it conflicts with. The pool is the first candidate, in
// the user's order, in which the buffer then ends within the limit. Pinned buffers come first, at
// their offsets.
//
// Where that leaves a buffer without a place although an earlier one could have gone to another of
// its candidate pools, the pools of earlier buffers are tried in turn, the latest first: of those
// that stand in the way, and then, if that was in vain, of all. Each time within a fixed amount of
// work. So a buffer that may live in one pool only is not starved by one that had a choice.
#ifndef USMP_SOLVER_HEURISTICS_FIRST_FIT_H_
#define USMP_SOLVER_HEURISTICS_FIRST_FIT_H_

#include <functional>
#include <optional>
#include <vector>

#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief What an algorithm made of a problem. */
struct Solution {
  /*! \brief By buffer. Where `unplaced` is set: what was placed when that buffer did not fit. */
  std::vector<std::optional<Placement>> placements;
  /*! \brief The first buffer for which there was no place, if there was one. */
  std::optional<size_t> unplaced;
  /*! \brief For each of its candidates, where it would have gone without limit. */
  std::vector<std::optional<int64_t>> unplaced_offsets;
  /*! \brief By pool, the smallest end of a buffer that the limit of the pool refused, or the
   *         largest int64. With any limit from the present one up to it, the algorithm would have
   *         done the same. */
  std::vector<int64_t> refused;
  /*! \brief By pool, the highest end of a buffer that was placed, be it for a moment. */
  std::vector<int64_t> highest_ends;
  /*! \brief Placed buffers that were looked at: a measure of time that is the same everywhere. */
  int64_t work;
};

/*!
 * \brief From a problem, and who conflicts with whom in it, to a solution: the same whenever it is
 *        called with the same problem.
 */
using Algorithm = std::function<Solution(const Problem&, const ConflictGraph&)>;

/*! \brief Buffers at their places, one after the other. */
class Placer {
 public:
  Placer(const Problem& problem, const ConflictGraph& conflicts);

  /*! \brief Go on from where another stopped. */
  Placer(const Problem& problem, const ConflictGraph& conflicts,
         std::vector<std::optional<Placement>> placements);

  /*! \brief From now on, have a buffer keep clear only of those with a smaller rank. */
  void RankBy(const std::vector<size_t>* ranks) { ranks_ = ranks; }

  /*! \brief The lowest offset of the buffer in the pool beside what is placed, limit or not; none
   *         if it is pinned to bytes that are taken, or would end beyond the 64-bit offsets. */
  std::optional<int64_t> LowestOffset(size_t buffer, size_t pool);

  /*! \brief Place the buffer at the offset, unless the limit of the pool refuses it. */
  bool TryPlace(size_t buffer, size_t pool, int64_t offset);

  /*! \brief Place the buffer at its lowest offset in the pool, if the limit permits. */
  bool TryPlace(size_t buffer, size_t pool);

  /*! \brief Place the buffer in the first candidate that takes it. */
  bool TryPlace(size_t buffer);

  /*! \brief Place the buffer in its last candidate, limit or not; false if it has no offset there.
   */
  bool PlaceBeyondLimit(size_t buffer);

  void Remove(size_t buffer) { placements_[buffer].reset(); }

  /*! \brief Have the buffer where it was once placed. */
  void Restore(size_t buffer, const std::optional<Placement>& placement) {
    placements_[buffer] = placement;
  }

  const std::vector<std::optional<Placement>>& placements() const { return placements_; }
  int64_t work() const { return work_; }

  /*! \brief What was done so far; `unplaced` is the first buffer that found no place, if any. */
  Solution Result(std::optional<size_t> unplaced) const {
    return {placements_, unplaced, {}, refused_, highest_ends_, work_};
  }

 private:
  /*! \brief Offsets strictly between the two are taken. */
  struct Taken {
    int64_t low;
    int64_t high;
  };

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  std::vector<std::optional<Placement>> placements_;
  std::vector<int64_t> refused_;
  std::vector<int64_t> highest_ends_;
  /*! \brief By buffer; null if a buffer keeps clear of all that are placed. */
  const std::vector<size_t>* ranks_ = nullptr;
  std::vector<Taken> taken_;
  int64_t work_ = 0;
};

/*! \brief Place the buffers in the given order. */
Solution FirstFit(const Problem& problem, const ConflictGraph& conflicts,
                  const std::vector<size_t>& order);

/*! \brief The same order, pinned buffers first. */
std::vector<size_t> PinnedFirst(const Problem& problem, std::vector<size_t> order);

/*! \brief By pool, the highest end of a placed buffer that has bytes. */
std::vector<int64_t> Peaks(const Problem& problem,
                           const std::vector<std::optional<Placement>>& placements);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_FIRST_FIT_H_
