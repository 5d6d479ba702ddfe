// The conflicts between buffers, and the distances that they impose.
//
// Two buffers conflict if the problem lists them as a pair or if their live ranges intersect. A
// tree over the live ranges finds these conflicts in about linear time. They are stored only where
// they are few, since their number may be quadratic.
#ifndef USMP_SOLVER_MODEL_CONFLICT_GRAPH_H_
#define USMP_SOLVER_MODEL_CONFLICT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

class ConflictGraph {
 public:
  /*!
   * \brief A buffer that conflicts with a given one.
   *
   * In a pool that holds both, the neighbor starts at least `below` bytes before the given buffer,
   * or at least `above` bytes after it. Without a safe overlap, these are the sizes of the neighbor
   * and of the given buffer.
   */
  struct Neighbor {
    size_t buffer;
    int64_t below;
    int64_t above;
  };

  /*! \brief Most neighbors to store, over all buffers: about 100 MB. Neighbors that do not follow
   *         from live ranges are always stored. */
  static constexpr size_t kMostStored = 4'000'000;

  explicit ConflictGraph(const Problem& problem, size_t most_stored = kMostStored);

  /*! \brief Return the number of buffers that conflict with `buffer`. */
  size_t Degree(size_t buffer) const { return degrees_[buffer]; }

  /*! \brief Call `visit` with each neighbor of the buffer, in no particular order. */
  template <typename Visit>
  void ForEach(size_t buffer, Visit visit) const {
    for (size_t k = first_stored_[buffer]; k < first_stored_[buffer + 1]; ++k) visit(stored_[k]);
    if (!all_stored_) ForEachLiveTogether(buffer, [&](size_t b) { visit(Pair(buffer, b)); });
  }

  /*! \brief Return the neighbor with the `rank`-th smallest index, from 0. */
  size_t NeighborAt(size_t buffer, size_t rank) const;

 private:
  /*! \brief A live range of a buffer. The ranges of one buffer are disjoint. */
  struct Live {
    int64_t start;
    int64_t stop;
    size_t buffer;
  };

  void ReadLiveRanges(const Problem& problem);
  void CountLiveTogether();
  void Store(std::vector<std::vector<size_t>> further, size_t most_stored);

  /*! \brief Return the starts of the first two live ranges, one of each buffer, that intersect. */
  std::optional<std::pair<int64_t, int64_t>> FirstMeeting(size_t lhs, size_t rhs) const;

  bool IsFirstMeeting(const Live& lhs, const Live& rhs) const {
    return FirstMeeting(lhs.buffer, rhs.buffer) == std::pair(lhs.start, rhs.start);
  }

  /*! \brief Return the listed conflicts beyond live ranges: sorted and symmetric. */
  std::vector<std::vector<size_t>> FurtherConflicts(const Problem& problem) const;

  Neighbor Pair(size_t buffer, size_t other) const;

  /*! \brief Call `visit` once with each buffer whose live ranges intersect those of `buffer`. */
  template <typename Visit>
  void ForEachLiveTogether(size_t buffer, Visit visit) const {
    for (size_t k = first_live_[buffer]; k < first_live_[buffer + 1]; ++k) {
      ForEachMeeting(1, 0, tree_leaves_, live_[k], [&](const Live& met) {
        if (met.buffer == buffer) return;
        if (single_ranges_ || IsFirstMeeting(live_[k], met)) visit(met.buffer);
      });
    }
  }

  /*! \brief Call `visit` with each live range that intersects `range`, in the subtree of `node`,
   *         which covers `count` live ranges from `begin` on in order of start. */
  template <typename Visit>
  void ForEachMeeting(size_t node, size_t begin, size_t count, const Live& range,
                      const Visit& visit) const {
    if (begin >= by_start_.size() || latest_stop_[node] <= range.start) return;
    if (by_start_[begin].start >= range.stop) return;
    if (count == 1) return visit(by_start_[begin]);
    ForEachMeeting(2 * node, begin, count / 2, range, visit);
    ForEachMeeting(2 * node + 1, begin + count / 2, count / 2, range, visit);
  }

  /*! \brief Sizes by buffer, contiguous for speed. */
  std::vector<int64_t> sizes_;
  std::vector<size_t> degrees_;
  /*! \brief Live ranges by buffer, then by time; those of buffer b begin at `first_live_[b]`. */
  std::vector<Live> live_;
  std::vector<size_t> first_live_;
  bool single_ranges_ = true;
  /*! \brief Live ranges in order of start: the leaves of the tree. */
  std::vector<Live> by_start_;
  /*! \brief Latest stop of the live ranges below each node. Node n has children 2n and 2n + 1. */
  std::vector<int64_t> latest_stop_;
  size_t tree_leaves_ = 0;
  /*! \brief Sorted by output, input and distance. */
  std::vector<Problem::Overlap> overlaps_;
  /*! \brief All neighbors if `all_stored_`, else only those that do not follow from live ranges. */
  std::vector<Neighbor> stored_;
  std::vector<size_t> first_stored_;
  bool all_stored_ = false;
};

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_CONFLICT_GRAPH_H_
