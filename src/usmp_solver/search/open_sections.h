// The items of each section that are not placed yet, as exact search goes down and up.
//
// They must all fit between the least of their heads, the lower bounds of their offsets, and
// the capacity.
#ifndef USMP_SOLVER_SEARCH_OPEN_SECTIONS_H_
#define USMP_SOLVER_SEARCH_OPEN_SECTIONS_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

class OpenSections {
 public:
  /*! \brief The problem must outlive this. */
  explicit OpenSections(const PoolProblem& problem);

  /*! \brief No item is placed, all heads are 0. */
  void Reset();

  /*! \brief The item is open no more. */
  void Place(int32_t item);

  /*! \brief Take back the last placement that was not taken back. */
  void Reopen(int32_t item, int64_t head);

  /*! \brief The head of an open item has become higher. */
  void Raise(int32_t item, int64_t head);

  /*!
   * \brief A section that a change touched, and whose open items do not fit any more; -1 if there
   * is none. Changes count as looked at then.
   *
   * \param by_heads judge by all heads, not by the least alone.
   */
  int32_t FindMisfit(const Offsets& heads, int64_t capacity, bool by_heads, Budget* budget);

  /*! \brief The same for all sections. */
  bool AllFit(const Offsets& heads, int64_t capacity, bool by_heads);

  /*! \brief Changes so far need not be looked at. */
  void ForgetChanges();

  /*! \brief Into the section no open item reaches from the one before. */
  bool IsCut(int32_t section) const { return crossing_[section] == 0; }

  /*! \brief Whether there may be a cut that was not there when this was last asked. */
  bool MayHaveNewCut();

 private:
  void Touch(int32_t section);
  void CountEnds(int32_t item, int32_t by);
  bool IsDominated(int32_t section) const;
  bool Fits(int32_t section, const Offsets& heads, int64_t capacity, bool by_heads);

  const PoolProblem& problem_;
  /*! \brief By item, the bytes that no other item of its sections shares with it. */
  std::vector<int64_t> own_bytes_;

  /*! \brief By section, its items: those that are open first. */
  std::vector<int64_t> first_member_;
  std::vector<int32_t> members_;
  std::vector<int32_t> num_open_;
  /*! \brief By item and section of it, where it is among the members of the section. */
  std::vector<int64_t> first_place_;
  std::vector<int32_t> places_;
  /*! \brief By member, the index in `places_` that says where it is. */
  std::vector<int64_t> place_of_member_;

  /*! \brief By section, the own bytes of its open items. */
  std::vector<int64_t> open_bytes_;
  /*! \brief By section, at least the highest head. */
  std::vector<int64_t> highest_head_;
  /*! \brief By section, the open items that reach from the one before into it. */
  std::vector<int32_t> crossing_;
  bool may_have_new_cut_ = true;
  /*! \brief By section, the open items that are not in the one before, or not in the one after. */
  std::vector<int32_t> first_in_;
  std::vector<int32_t> last_in_;
  std::vector<int32_t> touched_;
  std::vector<char> is_touched_;
  /*! \brief Of the section that is looked at. */
  std::vector<int64_t> section_heads_;
  std::vector<int64_t> section_bytes_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_OPEN_SECTIONS_H_
