#include "usmp_solver/bounds/stack_height.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace usmp {

namespace {

using Item = PoolProblem::Item;

/*! \brief Most sets of items, up to exchange of equal ones, whose heights are stored. */
constexpr int64_t kMaxStates = 1 << 12;

/*! \brief Most sums of sizes that are stored to compute how far a gap can be filled. */
constexpr size_t kMaxSums = 1 << 10;

/*! \brief Equal items. */
struct Kind {
  int64_t size;
  int64_t alignment;
  int64_t fixed_offset;
  int64_t count;
};

bool IsPinned(const Item& item) { return item.fixed_offset >= 0; }

/*! \brief Return the least common multiple of all alignments, or nullopt if it overflows int64. */
std::optional<int64_t> CommonAlignment(const std::vector<Item>& items) {
  int64_t common = 1;
  for (const Item& item : items) {
    const int64_t factor = item.alignment / std::gcd(common, item.alignment);
    if (factor > kNoLimit / common) return std::nullopt;
    common *= factor;
  }
  return common;
}

/*!
 * \brief Subtract from each size all multiples of the common alignment. Return the subtracted
 *        bytes.
 *
 * In a stack without pins, all alignments still hold if an item shrinks by such a multiple and the
 * items above it move down as much, or the reverse. So the heights differ by exactly this sum.
 */
int64_t Shrink(std::vector<Item>* items) {
  const std::optional<int64_t> common = CommonAlignment(*items);
  if (!common) return 0;
  int64_t taken = 0;
  for (Item& item : *items) {
    const int64_t rest = item.size % *common;
    taken = ClampedAdd(taken, item.size - rest);
    item.size = rest;
  }
  items->erase(
      std::remove_if(items->begin(), items->end(), [](const Item& item) { return item.size == 0; }),
      items->end());
  return taken;
}

std::vector<Kind> KindsOf(std::vector<Item> items) {
  const auto key = [](const Item& item) {
    return std::tuple(item.fixed_offset, item.alignment, item.size);
  };
  std::sort(items.begin(), items.end(),
            [&](const Item& lhs, const Item& rhs) { return key(lhs) < key(rhs); });
  std::vector<Kind> kinds;
  for (const Item& item : items) {
    if (!kinds.empty() && !IsPinned(item) && kinds.back().size == item.size &&
        kinds.back().alignment == item.alignment && kinds.back().fixed_offset < 0) {
      ++kinds.back().count;
    } else {
      kinds.push_back({item.size, item.alignment, item.fixed_offset, 1});
    }
  }
  return kinds;
}

/*! \brief Return the end of an item directly above `top`; kNoLimit if it cannot be there. */
int64_t EndAbove(int64_t top, const Kind& kind) {
  if (kind.fixed_offset >= 0) {
    return top <= kind.fixed_offset ? ClampedAdd(kind.fixed_offset, kind.size) : kNoLimit;
  }
  const std::optional<int64_t> offset = AlignUp(top, kind.alignment);
  return offset ? ClampedAdd(*offset, kind.size) : kNoLimit;
}

/*!
 * \brief Return the lowest peak over all orders; nullopt if there are too many sets.
 *
 * Among all orders of a set, the lowest one leaves the most space to the others, so one height for
 * each set suffices. A set is a number with one digit for each kind, which counts its items.
 */
std::optional<int64_t> ExactHeight(const std::vector<Kind>& kinds, Budget* budget) {
  int64_t states = 1;
  for (const Kind& kind : kinds) {
    states *= kind.count + 1;
    if (states > kMaxStates) return std::nullopt;
  }
  std::vector<int64_t> tops(states, kNoLimit);
  tops[0] = 0;
  for (int64_t state = 0; state < states; ++state) {
    budget->Spend(kinds.size());
    if (tops[state] == kNoLimit) continue;
    int64_t place = 1;
    for (const Kind& kind : kinds) {
      if (state / place % (kind.count + 1) < kind.count) {
        int64_t& top = tops[state + place];
        top = std::min(top, EndAbove(tops[state], kind));
      }
      place *= kind.count + 1;
    }
  }
  return tops.back();
}

/*! \brief Return the peak of one stack without pins: widest alignments first waste little. */
int64_t SimpleHeight(std::vector<Kind> kinds) {
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind& lhs, const Kind& rhs) { return lhs.alignment > rhs.alignment; });
  int64_t top = 0;
  for (const Kind& kind : kinds) {
    for (int64_t k = 0; k < kind.count && top < kNoLimit; ++k) top = EndAbove(top, kind);
  }
  return top;
}

/*! \brief Return the largest sum of `sizes` (ascending) up to `gap`; `gap` if that is unknown. */
int64_t LargestSum(const std::vector<int64_t>& sizes, int64_t gap, Budget* budget) {
  std::vector<int64_t> sums = {0};
  for (int64_t size : sizes) {
    if (size > gap) break;
    const size_t before = sums.size();
    for (size_t k = 0; k < before && sums[k] <= gap - size; ++k) sums.push_back(sums[k] + size);
    std::inplace_merge(sums.begin(), sums.begin() + before, sums.end());
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    budget->Spend(sums.size());
    if (sums.size() > kMaxSums) return gap;
  }
  return sums.back();
}

/*!
 * \brief Return a lower bound of the height: sizes that do not fit between pins go above them.
 *
 * Each gap holds at most the largest sum of sizes that fits it.
 */
int64_t HeightAroundPins(std::vector<Kind> pins, const std::vector<int64_t>& sizes,
                         Budget* budget) {
  std::sort(pins.begin(), pins.end(),
            [](const Kind& lhs, const Kind& rhs) { return lhs.fixed_offset < rhs.fixed_offset; });
  int64_t left = 0;
  for (int64_t size : sizes) left = ClampedAdd(left, size);
  int64_t end = 0;
  for (const Kind& pin : pins) {
    if (pin.fixed_offset < end) return kNoLimit;
    if (left > 0) left -= std::min(left, LargestSum(sizes, pin.fixed_offset - end, budget));
    end = ClampedAdd(pin.fixed_offset, pin.size);
  }
  return ClampedAdd(end, left);
}

}  // namespace

int64_t StackHeight(const std::vector<Item>& items, int64_t bound, Budget* budget) {
  const bool pinned = std::any_of(items.begin(), items.end(), IsPinned);
  std::vector<Item> rest = items;
  const int64_t below = pinned ? 0 : Shrink(&rest);
  const std::vector<Kind> kinds = KindsOf(rest);
  if (!pinned && ClampedAdd(below, SimpleHeight(kinds)) <= bound) return bound;
  if (const std::optional<int64_t> height = ExactHeight(kinds, budget)) {
    return std::max(bound, ClampedAdd(below, *height));
  }
  std::vector<Kind> pins;
  std::vector<int64_t> sizes;
  for (const Kind& kind : kinds) {
    if (kind.fixed_offset >= 0) {
      pins.push_back(kind);
    } else {
      sizes.insert(sizes.end(), kind.count, kind.size);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  return std::max(bound, ClampedAdd(below, HeightAroundPins(pins, sizes, budget)));
}

}  // namespace usmp
