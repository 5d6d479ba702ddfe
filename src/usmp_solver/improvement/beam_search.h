// Beam search over placements, from the lowest gap upwards.
//
// A state is a set of placed items. Each unplaced item has a lowest offset above all placed items
// that conflict with it. The floor of a section is the least such offset of its items. A step takes
// a section whose floor is a local minimum, so that nothing will be placed below. It places one of
// the items that fit on this floor, perhaps after leaving the gap empty up to the next adjacent
// floor. A state is dropped as soon as floor plus remaining load of a section exceeds the target
// peak. The `width` best of the other states continue, scored by the slack of their sections.
#ifndef USMP_SOLVER_IMPROVEMENT_BEAM_SEARCH_H_
#define USMP_SOLVER_IMPROVEMENT_BEAM_SEARCH_H_

#include "usmp_solver/improvement/beam_model.h"
#include "usmp_solver/model/budget.h"

namespace usmp {

struct BeamSettings {
  /*! \brief Number of states that continue after each step. */
  int32_t width;
  /*! \brief Most gaps to leave empty before each placement. */
  int32_t skips;
  /*! \brief The weight of a section falls by a factor of e for each 1/sharpness of the peak that it
   *         has as slack. */
  int32_t sharpness;
  /*! \brief Take the leftmost local minimum, instead of the one with the fewest choices. */
  bool leftmost;
  /*! \brief A gap may end at the top of an item beside it, not only at a floor. */
  bool small_gaps;
};

/*! \brief Return the largest width that keeps the states within bounded memory. */
int32_t WidestBeam(const BeamModel& model);

struct BeamResult {
  /*! \brief Offsets in units, within the peak; empty if none were found. */
  std::vector<int32_t> places;
  /*! \brief Whether no state was dropped, so that a wider beam finds no more. */
  bool is_exhausted;
};

BeamResult SearchBeam(const BeamModel& model, int32_t peak, const BeamSettings& settings,
                      Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_BEAM_SEARCH_H_
