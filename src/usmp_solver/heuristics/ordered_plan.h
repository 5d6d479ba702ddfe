// The first fit plan of an order, kept up to date while the order changes.
//
// Only what a change of the order affects is placed anew: the buffers that went elsewhere in it,
// those that they no longer keep out of a lower place, those that stand where a buffer went, and
// what these affect in turn. The result is the same as if all had been placed anew.
#ifndef USMP_SOLVER_HEURISTICS_ORDERED_PLAN_H_
#define USMP_SOLVER_HEURISTICS_ORDERED_PLAN_H_

#include <optional>
#include <vector>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

class OrderedPlan {
 public:
  using Placements = std::vector<std::optional<Placement>>;

  struct Outcome {
    /*! \brief The sum of the peaks of the workspace pools, with what lies beyond a limit. */
    int64_t total;
    /*! \brief Whether everything found a place within the limits. */
    bool fits;
  };

  /*! \brief What has a place already keeps it, and all others keep clear of it. */
  OrderedPlan(const Problem& problem, const ConflictGraph& conflicts, Placements fixed);

  /*! \brief Place all others in the order. */
  Outcome Start(std::vector<size_t> order);

  /*! \brief Take over the order and its first fit plan, which is known. */
  Outcome Start(std::vector<size_t> order, const Placements& plan);

  /*! \brief Have two positions of the order change their buffers; the plan stays for now. */
  void Swap(size_t lhs, size_t rhs);

  /*! \brief Have the buffer at one position of the order go to another; the plan stays for now. */
  void Move(size_t from, size_t to);

  /*!
   * \brief Bring the plan up to date.
   *
   * \return nothing, with the plan as it was, as soon as the total is clearly more than `most`.
   */
  std::optional<Outcome> Update(int64_t most);

  /*! \brief Keep what the last update made of the plan. */
  void Keep();

  /*! \brief Have the plan from before the last update back; the order stays. */
  void Undo();

  /*! \brief By buffer, its position in the order, from 1 on; 0 for those that were fixed. */
  const std::vector<size_t>& ranks() const { return ranks_; }
  const std::vector<size_t>& order() const { return order_; }
  const Placements& placements() const { return placer_.placements(); }

  /*! \brief The plan, and what was done for it and all others so far. */
  Solution Result() const;

  /*! \brief Buffers that were looked at, once however many pools were tried: the limits have no
   *         say in it. */
  int64_t work() const { return work_; }

 private:
  struct Change {
    size_t buffer;
    std::optional<Placement> before;
    bool was_beyond;
  };

  void SetOrder(std::vector<size_t> order);
  void Touch(size_t buffer);
  bool MarkTouched(size_t buffer);
  void PlaceAnew(size_t buffer);
  bool Opens(const std::optional<Placement>& left, const ConflictGraph::Neighbor& neighbor) const;
  bool Blocks(const std::optional<Placement>& taken, const ConflictGraph::Neighbor& neighbor) const;

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  Placer placer_;
  /*! \brief By pool, the peak of the buffers that are fixed. */
  std::vector<int64_t> fixed_peaks_;
  std::vector<size_t> order_;
  std::vector<size_t> ranks_;
  /*! \brief The ranks that the plan was made with. */
  std::vector<size_t> plan_ranks_;
  /*! \brief What was put elsewhere since, and has neighbors that it came before or after. */
  std::vector<size_t> touched_;
  /*! \brief By buffer, whether it is to be placed anew. */
  std::vector<char> marked_;
  /*! \brief By buffer, whether it found no place within the limits. */
  std::vector<char> beyond_;
  /*! \brief What the last update changed. */
  std::vector<Change> changes_;
  int64_t work_ = 0;
};

/*! \brief The sum of the peaks of the workspace pools; the largest int64 if it is more. */
int64_t WorkspaceTotal(const Problem& problem, const std::vector<int64_t>& peaks);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_ORDERED_PLAN_H_
