// Branch and bound over compact placements in one pool.
//
// A placement is compact if no single buffer can go to a lower offset while all others stay. If
// there is a placement within the capacity, the one of the least sum of offsets is compact, so only
// compact ones are looked for. In them every buffer that is not pinned starts at 0 or rests on
// another one: at the lowest aligned offset that keeps clear above it.
//
// Each buffer that is not placed has a head, a lower bound of its offset. A node takes the buffer j
// of the least head h and asks: is it at h?
//   - If so, nothing that conflicts with it fits below, since heads are not lower: all of it goes
//     above, which raises heads.
//   - If not, j rests on a buffer that is not placed, so its head goes up to the least end of one
//     that conflicts with it. And since h was free, some other buffer must come to take a byte of
//     j's place there; once none can, the placement would not be compact (`blocked_holes`).
// A node is given up when some section proves that the rest does not fit: its buffers follow each
// other, none before its head, so the last one ends no earlier than if they came by ascending heads
// (Jackson's rule for one machine with release dates).
//
// An output that may lie at the very offset of its input goes first, so that what is placed later
// lies higher. Where this goes round in a circle, a node first decides for one such pair which of
// the two orders holds.
//
// The canonical order of MiniMalloc (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning", ASPLOS 2023) is where this started. There a buffer that
// is passed over may come again at the same offset in other company; here it may not, and what it
// loses by that is what prunes.
#ifndef USMP_SOLVER_SEARCH_BRANCH_AND_BOUND_H_
#define USMP_SOLVER_SEARCH_BRANCH_AND_BOUND_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"
#include "usmp_solver/search/open_sections.h"
#include "usmp_solver/search/placing_rules.h"

namespace usmp {

class BranchAndBound {
 public:
  BranchAndBound(const PoolProblem& problem, const ExactRules& rules);

  /*!
   * \brief Search for a placement within the capacity.
   *
   * \param priorities of two items with the same head, the one of the higher priority goes first.
   * \param max_nodes the search is undecided after that many.
   */
  Verdict Run(int64_t capacity, const std::vector<double>& priorities, int64_t max_nodes,
              Budget* budget);

  /*! \brief After a verdict of kPlaced. */
  const Offsets& offsets() const { return heads_; }

  /*! \brief How often each section was what gave up a node. */
  const std::vector<double>& section_weights() const { return weights_; }

 private:
  /*! \brief A place that was free when the item was refused it. */
  struct Hole {
    int32_t item;
    int64_t offset;
    /*! \brief A conflict that takes bytes of it, or still can. */
    int64_t watched;
  };

  /*! \brief What is undone when a node is left. */
  struct Change {
    enum Kind : int32_t { kHead, kPlaced, kHole, kLimit, kOrder } kind;
    int32_t item;
    int64_t old;
  };

  bool Start(int64_t capacity);
  bool Search(std::vector<int32_t> items, bool is_part = false);
  bool SearchParts(const std::vector<int32_t>& items, int32_t cut);
  int32_t FindCut(const std::vector<int32_t>& items) const;
  int32_t Choose(const std::vector<int32_t>& items, int64_t* circular) const;
  bool SearchOrders(std::vector<int32_t> items, int64_t conflict);
  void Order(int64_t conflict, bool below);
  int64_t Mirror(int64_t conflict) const;
  bool IsSlab(int32_t item, const std::vector<int32_t>& items) const;
  bool Place(int32_t item);
  bool Refuse(int32_t item);
  bool RaiseHead(int32_t item, int64_t head);
  bool CheckSections();
  bool CheckHoles(int32_t placed_now);
  bool IsTaken(Hole* hole);
  bool Fail(int32_t section);
  void Undo(size_t mark);

  int64_t Align(int64_t position, int32_t item) const;

  const PoolProblem& problem_;
  const ExactRules rules_;
  int32_t num_items_;
  PlacingRules placing_;
  /*! \brief What `Order` changed, as it was. */
  std::vector<PlacingRules::Conflict> orders_undone_;
  const std::vector<int32_t> next_twin_;
  bool has_alignment_ = false;
  /*! \brief No pins, alignment or overlaps. */
  bool is_plain_;

  int64_t capacity_ = 0;
  const std::vector<double>* priorities_ = nullptr;
  Budget* budget_ = nullptr;
  int64_t nodes_ = 0;
  int64_t max_nodes_ = 0;
  bool undecided_ = false;

  Offsets heads_;
  std::vector<char> placed_;
  /*! \brief By item, the highest offset that is possible. */
  Offsets limits_;
  std::vector<Hole> holes_;
  /*! \brief By item, the number of its holes. */
  std::vector<int32_t> num_holes_;
  std::vector<Change> changes_;

  OpenSections sections_;
  std::vector<double> weights_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_BRANCH_AND_BOUND_H_
