// The open (unplaced) items of each section, updated as exact search places and removes items.
//
// The head of an item is a lower bound of its offset. The open items of a section must fit between
// their least head and the capacity.
#ifndef USMP_SOLVER_SEARCH_OPEN_SECTIONS_H_
#define USMP_SOLVER_SEARCH_OPEN_SECTIONS_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

class OpenSections {
 public:
  /*! \brief `problem` must outlive this object. */
  explicit OpenSections(const PoolProblem& problem);

  /*! \brief Mark all items as unplaced, with heads of 0. */
  void Reset();

  /*! \brief Mark the item as placed. */
  void Place(int32_t item);

  /*! \brief Undo the placement of the item, which must be the latest one in effect. */
  void Reopen(int32_t item, int64_t head);

  /*! \brief Raise the head of an open item. */
  void Raise(int32_t item, int64_t head);

  /*!
   * \brief Return a touched section whose open items do not fit; -1 if there is none.
   *
   * Afterwards, no section counts as touched.
   *
   * \param by_heads whether to use all heads, or only the least.
   */
  int32_t FindMisfit(const Offsets& heads, int64_t capacity, bool by_heads, Budget* budget);

  /*! \brief Return whether the open items of all sections fit. */
  bool AllFit(const Offsets& heads, int64_t capacity, bool by_heads);

  /*! \brief Mark all sections as untouched. */
  void ForgetChanges();

  /*! \brief Return whether no open item reaches into the section from the previous one. */
  bool IsCut(int32_t section) const { return crossing_[section] == 0; }

  /*! \brief Return whether a cut may have appeared since the last call. */
  bool MayHaveNewCut();

 private:
  void Touch(int32_t section);
  void CountEnds(int32_t item, int32_t by);
  bool IsDominated(int32_t section) const;
  bool Fits(int32_t section, const Offsets& heads, int64_t capacity, bool by_heads);

  const PoolProblem& problem_;
  /*! \brief Bytes of each item that no other item of its sections shares. */
  std::vector<int64_t> own_bytes_;

  /*! \brief Items by section, the open ones first. */
  std::vector<int64_t> first_member_;
  std::vector<int32_t> members_;
  std::vector<int32_t> num_open_;
  /*! \brief Position of each item among the members of each of its sections. */
  std::vector<int64_t> first_place_;
  std::vector<int32_t> places_;
  /*! \brief Index in `places_` of each member's position. */
  std::vector<int64_t> place_of_member_;

  /*! \brief Sum of the own bytes of the open items, by section. */
  std::vector<int64_t> open_bytes_;
  /*! \brief Upper bound of the highest head, by section. */
  std::vector<int64_t> highest_head_;
  /*! \brief Open items that reach from the previous section into each section. */
  std::vector<int32_t> crossing_;
  bool may_have_new_cut_ = true;
  /*! \brief Open items of each section that are not in the previous one, or not in the next one. */
  std::vector<int32_t> first_in_;
  std::vector<int32_t> last_in_;
  std::vector<int32_t> touched_;
  std::vector<char> is_touched_;
  /*! \brief Scratch memory for a single section. */
  std::vector<int64_t> section_heads_;
  std::vector<int64_t> section_bytes_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_OPEN_SECTIONS_H_
