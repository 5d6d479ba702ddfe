#include "usmp_solver/search/open_sections.h"

#include <algorithm>

#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

/*! \brief Return the bytes of each item beyond all inputs that it may overlap, wherever they are.
 *         Their sum over a section is a lower bound of the bytes that its items occupy. */
std::vector<int64_t> OwnBytes(const PoolProblem& problem) {
  std::vector<int64_t> own;
  for (const PoolProblem::Item& item : problem.items) own.push_back(item.size);
  const bool circular = HasCircle(problem);
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    const int64_t shared = std::min(problem.items[overlap.output].size - overlap.distance,
                                    problem.items[overlap.input].size);
    own[overlap.output] = std::max<int64_t>(0, own[overlap.output] - shared);
    // If overlaps form a cycle, no item comes first.
    if (circular) own[overlap.input] = std::max<int64_t>(0, own[overlap.input] - shared);
  }
  return own;
}

}  // namespace

OpenSections::OpenSections(const PoolProblem& problem)
    : problem_(problem), own_bytes_(OwnBytes(problem)), is_touched_(problem.num_sections, 0) {
  std::vector<int64_t> count(problem.num_sections, 0);
  first_place_.assign(1, 0);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    int64_t sections = 0;
    ForSections(problem, static_cast<int32_t>(i), [&](int32_t s) {
      ++count[s];
      ++sections;
    });
    first_place_.push_back(first_place_.back() + sections);
  }
  first_member_.assign(1, 0);
  for (int64_t members : count) first_member_.push_back(first_member_.back() + members);
  members_.resize(first_member_.back());
  places_.resize(first_member_.back());
  place_of_member_.resize(first_member_.back());
  std::vector<int64_t> next = first_member_;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    int64_t place = first_place_[i];
    ForSections(problem, static_cast<int32_t>(i), [&](int32_t s) {
      members_[next[s]] = static_cast<int32_t>(i);
      places_[place] = static_cast<int32_t>(next[s] - first_member_[s]);
      place_of_member_[next[s]++] = place++;
    });
  }
  const int64_t most = count.empty() ? 0 : *std::max_element(count.begin(), count.end());
  section_heads_.resize(most);
  section_bytes_.resize(most);
  Reset();
}

void OpenSections::Reset() {
  ForgetChanges();
  const int32_t sections = problem_.num_sections;
  open_bytes_.assign(sections, 0);
  highest_head_.assign(sections, 0);
  crossing_.assign(sections + 1, 0);
  first_in_.assign(sections, 0);
  last_in_.assign(sections, 0);
  num_open_.clear();
  for (int32_t s = 0; s < sections; ++s) {
    num_open_.push_back(static_cast<int32_t>(first_member_[s + 1] - first_member_[s]));
  }
  for (size_t i = 0; i < problem_.items.size(); ++i) {
    const int32_t item = static_cast<int32_t>(i);
    ForSections(problem_, item, [&](int32_t s) { open_bytes_[s] += own_bytes_[item]; });
    CountEnds(item, 1);
  }
  may_have_new_cut_ = true;
}

void OpenSections::Place(int32_t item) {
  int64_t place = first_place_[item];
  ForSections(problem_, item, [&](int32_t s) {
    // Move the item behind the open ones. `Reopen` relies on the reverse order.
    const int64_t first = first_member_[s];
    const int64_t from = first + places_[place];
    const int64_t to = first + --num_open_[s];
    std::swap(members_[from], members_[to]);
    std::swap(place_of_member_[from], place_of_member_[to]);
    places_[place_of_member_[from]] = static_cast<int32_t>(from - first);
    places_[place_of_member_[to]] = static_cast<int32_t>(to - first);
    ++place;
    open_bytes_[s] -= own_bytes_[item];
    Touch(s);
  });
  CountEnds(item, -1);
}

void OpenSections::Reopen(int32_t item, int64_t head) {
  ForSections(problem_, item, [&](int32_t s) {
    ++num_open_[s];
    open_bytes_[s] += own_bytes_[item];
    highest_head_[s] = std::max(highest_head_[s], head);
  });
  CountEnds(item, 1);
}

void OpenSections::Raise(int32_t item, int64_t head) {
  ForSections(problem_, item, [&](int32_t s) {
    highest_head_[s] = std::max(highest_head_[s], head);
    Touch(s);
  });
}

void OpenSections::Touch(int32_t section) {
  if (is_touched_[section]) return;
  is_touched_[section] = 1;
  touched_.push_back(section);
}

void OpenSections::ForgetChanges() {
  for (int32_t s : touched_) is_touched_[s] = 0;
  touched_.clear();
}

bool OpenSections::MayHaveNewCut() {
  const bool may = may_have_new_cut_;
  may_have_new_cut_ = false;
  return may;
}

bool OpenSections::AllFit(const Offsets& heads, int64_t capacity, bool by_heads) {
  for (int32_t s = 0; s < problem_.num_sections; ++s) {
    if (!Fits(s, heads, capacity, by_heads)) return false;
  }
  return true;
}

int32_t OpenSections::FindMisfit(const Offsets& heads, int64_t capacity, bool by_heads,
                                 Budget* budget) {
  int64_t looked_at = 0;
  int32_t misfit = -1;
  for (int32_t s : touched_) {
    ++looked_at;
    if (highest_head_[s] + open_bytes_[s] <= capacity || IsDominated(s)) continue;
    looked_at += num_open_[s];
    if (Fits(s, heads, capacity, by_heads)) continue;
    misfit = s;
    break;
  }
  budget->Spend(looked_at);
  ForgetChanges();
  return misfit;
}

/*! \brief Add `by` to the counts of open items that begin or end in the sections of the item. */
void OpenSections::CountEnds(int32_t item, int32_t by) {
  const PoolProblem::Item& it = problem_.items[item];
  for (const PoolProblem::Span& span : problem_.SpansOf(it)) {
    first_in_[span.begin] += by;
    last_in_[span.end - 1] += by;
  }
  const int32_t end = problem_.EndOf(it);
  for (int32_t s = problem_.BeginOf(it) + 1; s < end; ++s) {
    crossing_[s] += by;
    may_have_new_cut_ = may_have_new_cut_ || crossing_[s] == 0;
  }
}

/*! \brief Return whether an adjacent section has all open items of this one. A change that touches
 *         this section touches the adjacent one too, so checking the adjacent one is enough. */
bool OpenSections::IsDominated(int32_t section) const {
  if (section + 1 < problem_.num_sections && last_in_[section] == 0) return true;
  return section > 0 && first_in_[section] == 0 && last_in_[section - 1] > 0;
}

/*! \brief Return whether the open items of the section fit in a row, none before its head. */
bool OpenSections::Fits(int32_t section, const Offsets& heads, int64_t capacity, bool by_heads) {
  const int32_t* members = members_.data() + first_member_[section];
  const int32_t count = num_open_[section];
  int64_t lowest = kNoLimit;
  int64_t highest = 0;
  for (int32_t m = 0; m < count; ++m) {
    const int64_t head = heads[members[m]];
    section_heads_[m] = head;
    lowest = std::min(lowest, head);
    highest = std::max(highest, head);
  }
  highest_head_[section] = highest;
  const int64_t bytes = open_bytes_[section];
  if (highest + bytes <= capacity) return true;
  if (count == 0) return true;
  if (lowest + bytes > capacity) return false;
  if (!by_heads) return true;
  for (int32_t m = 0; m < count; ++m) section_bytes_[m] = own_bytes_[members[m]];
  // Items with heads up to `end` follow without a gap. A gap ends at the least head beyond.
  int64_t slack = capacity - lowest - bytes;
  int64_t end = lowest;
  int64_t start = lowest;
  while (true) {
    int64_t below = 0;
    int64_t next = kNoLimit;
    for (int32_t m = 0; m < count; ++m) {
      const bool is_below = section_heads_[m] <= end;
      below += is_below ? section_bytes_[m] : 0;
      next = std::min(next, is_below ? kNoLimit : section_heads_[m]);
    }
    if (next == kNoLimit) return true;
    if (start + below > end) {
      end = start + below;
      if (end >= highest) return true;
      continue;
    }
    slack -= next - end;
    if (slack < 0) return false;
    start += next - end;
    end = next;
  }
}

}  // namespace usmp
