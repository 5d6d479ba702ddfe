// In which order items are worth placing.
#ifndef USMP_SOLVER_HEURISTICS_ITEM_MEASURES_H_
#define USMP_SOLVER_HEURISTICS_ITEM_MEASURES_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Properties of items that orders are made of. */
class ItemMeasures {
 public:
  explicit ItemMeasures(const PoolProblem& problem);

  /*! \brief What an order compares, the larger first. */
  enum Key {
    /*! \brief The highest load of its sections: how urgent it is. */
    kUrgency,
    kSize,
    /*! \brief Its sections. */
    kDuration,
    /*! \brief Size times duration. */
    kArea,
    /*! \brief Size times the square root of the duration. */
    kRootArea,
    /*! \brief Its first section: the latest first. */
    kStart,
    /*! \brief Its last section, the earliest first. */
    kEarlyEnd,
  };

  /*! \brief All items, by the first key, then by the next, then by index. */
  std::vector<int32_t> Order(const std::vector<Key>& keys) const;

 private:
  double Measure(int32_t item, Key key) const;

  const PoolProblem& problem_;
  std::vector<int64_t> urgency_;
  std::vector<int32_t> duration_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_ITEM_MEASURES_H_
