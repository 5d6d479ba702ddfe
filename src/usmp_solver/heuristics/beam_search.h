// Beam search over placements from the lowest gap up.
//
// A state is a set of placed items. Every item that is not placed has a lowest place above all
// placed items that it conflicts with, and every section a floor, the lowest such place of its
// items. A step takes a section whose floor is a local minimum, so that nothing can come to lie
// under what is placed there, and places one of the items that fit on this floor; or first
// leaves the gap empty up to the next floor beside it. A state is dropped as soon as floor and
// remaining load of a section exceed the peak that is aimed at; of the others the `width` best
// go on, by how far their sections are from that.
#ifndef USMP_SOLVER_HEURISTICS_BEAM_SEARCH_H_
#define USMP_SOLVER_HEURISTICS_BEAM_SEARCH_H_

#include "usmp_solver/heuristics/beam_model.h"
#include "usmp_solver/model/budget.h"

namespace usmp {

struct BeamSettings {
  /*! \brief States that go on from each step. */
  int32_t width;
  /*! \brief Gaps that may be left empty before each placement. */
  int32_t skips;
  /*! \brief A section weighs less by a factor of e for each of so many parts of the peak that it
   *         has to spare. */
  int32_t sharpness;
  /*! \brief Of the local minima take the leftmost, instead of one with the fewest items to
   *         choose among. */
  bool leftmost;
  /*! \brief A gap may end where something could be placed beside it, not only at a floor. */
  bool small_gaps;
};

/*! \brief The widest beam that keeps the states within bounded memory. */
int32_t WidestBeam(const BeamModel& model);

struct BeamResult {
  /*! \brief Places in units, none of which ends beyond the peak; empty if none were found. */
  std::vector<int32_t> places;
  /*! \brief No state had to be dropped for want of width, nor of budget: a wider beam finds no
   *         more. */
  bool is_exhausted;
};

BeamResult SearchBeam(const BeamModel& model, int32_t peak, const BeamSettings& settings,
                      Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_BEAM_SEARCH_H_
