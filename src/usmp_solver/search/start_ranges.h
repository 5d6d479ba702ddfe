// Where each item may start, given some orders of conflicting items; and why.
//
// An order is a literal: items `a` and `b` of pair p, a < b, are in the order 2p if `a` lies below
// `b`, and 2p + 1 if `b` lies below `a`. Each order that is decided keeps the upper item clear of
// the lower one, so it raises the earliest start of the upper item and lowers the latest start of
// the lower one, and these others in turn. An item that has no start left proves that the orders
// cannot be together: what raised its earliest start, and what lowered its latest one, is why.
//
// Only as much is explained as is needed: the least start that leaves nothing, the first change
// that reached it, and of what that rests on again no more than is needed. So an explanation has
// few orders, and these were all decided before what they explain. Orders that go round in a circle
// have a length, and cannot be together: what the order that was decided last changes leads back to
// it.
//
// This is difference logic (Cotton and Maler, "Fast and flexible difference constraint propagation
// for DPLL(T)", SAT 2006), with alignment, explained as in lazy clause generation (Ohrimenko,
// Stuckey and Codish, "Propagation via lazy clause generation", Constraints 2009).
#ifndef USMP_SOLVER_SEARCH_START_RANGES_H_
#define USMP_SOLVER_SEARCH_START_RANGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief An order of two items that conflict; see above. */
using Order = int32_t;

/*! \brief The order that holds exactly if this one does not. */
inline Order Reverse(Order order) { return order ^ 1; }

class StartRanges {
 public:
  /*! \brief An order that cannot be, and what `Explain` needs to say why. */
  struct Refused {
    Order order;
    int64_t latest;
  };

  /*! \param problem its overlaps do not go round in a circle, which may have no length. */
  explicit StartRanges(const PoolProblem& problem);

  int32_t num_pairs() const { return static_cast<int32_t>(above_.size() / 2); }
  int32_t lower(Order order) const { return lower_[order]; }
  int32_t upper(Order order) const { return lower_[Reverse(order)]; }
  /*! \brief Bytes from the start of the lower item to the least start of the upper one. */
  int64_t above(Order order) const { return above_[order]; }

  /*!
   * \brief Forget all orders.
   *
   * \param refused gets orders that cannot be, whatever else holds.
   * \return whether each item has a start within the capacity.
   */
  bool Reset(int64_t capacity, Budget* budget, std::vector<Refused>* refused);

  /*!
   * \brief Have the order hold.
   *
   * \param refused gets orders that cannot be any more; some of them may be decided already.
   * \return whether each item still has a start; if not, `why` gets orders that cannot be together.
   */
  bool Decide(Order order, Budget* budget, std::vector<Refused>* refused, std::vector<Order>* why);

  /*! \brief Orders that were decided before, and that the refused one cannot be with. */
  void Explain(const Refused& refused, std::vector<Order>* why) const;

  /*! \brief To be given to `Undo`. */
  size_t mark() const { return changes_.size(); }
  void Undo(size_t mark);

  /*! \brief By item, its earliest start: a placement once all orders are decided. */
  Offsets earliest() const;

 private:
  /*!
   * \brief The two sides of a range, which work alike: the earliest start, and the latest start
   *        below zero. Both only rise, and rise from item to item along orders, upwards or
   *        downwards.
   */
  enum Side : int32_t { kEarliest, kLatest };

  struct Change {
    int32_t item;
    Side side;
    /*! \brief What it rose to. */
    int64_t value;
    /*! \brief What raised it; -1 if nothing did. */
    Order order;
    /*! \brief The change of the same side before it; -1 if it is the first. */
    int32_t before;
  };

  int32_t from(Side side, Order order) const {
    return lower_[side == kEarliest ? order : Reverse(order)];
  }
  int32_t to(Side side, Order order) const {
    return lower_[side == kEarliest ? Reverse(order) : order];
  }
  int64_t value(Side side, int32_t item) const { return changes_[last_[side][item]].value; }
  int64_t latest(int32_t item) const { return -value(kLatest, item); }

  bool Rise(Side side, Order first, Budget* budget, std::vector<Refused>* refused,
            std::vector<Order>* why);
  void ExplainCircle(Side side, Order first, std::vector<Order>* why) const;
  void Refuse(Side side, int32_t item, Budget* budget, std::vector<Refused>* refused) const;
  void Explain(Side side, int32_t item, int64_t need, std::vector<Order>* why) const;

  const PoolProblem& problem_;
  /*! \brief By order. */
  std::vector<int32_t> lower_;
  std::vector<int64_t> above_;
  /*! \brief By item, the orders in which it is the lower one; reversed, it is the upper one. */
  std::vector<std::vector<Order>> orders_;
  /*! \brief By order, whether it holds. */
  std::vector<char> holds_;
  std::vector<Change> changes_;
  /*! \brief By side and item, the last change. */
  std::array<std::vector<int32_t>, 2> last_;
  /*! \brief Items to go on from; empty between calls. */
  std::vector<int32_t> queue_;
  std::vector<char> is_queued_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_START_RANGES_H_
