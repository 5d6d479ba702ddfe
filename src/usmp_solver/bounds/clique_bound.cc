#include "usmp_solver/bounds/clique_bound.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "usmp_solver/bounds/stack_height.h"

namespace usmp {

namespace {

constexpr size_t kMaxCliqueItems = 2048;

using Words = std::vector<uint64_t>;

void Set(Words* words, size_t bit) { (*words)[bit / 64] |= uint64_t{1} << (bit % 64); }
void Clear(Words* words, size_t bit) { (*words)[bit / 64] &= ~(uint64_t{1} << (bit % 64)); }

/*!
 * \brief Return the index of the lowest set bit of `word`, which is not 0.
 *
 * The product of the lowest bit and a de Bruijn number has a unique value in its six top bits
 * (Leiserson, Prokop and Randall, 1998).
 */
int32_t LowestBit(uint64_t word) {
  constexpr uint64_t kDeBruijn = 0x03f79d71b4cb0a89;
  static constexpr auto kBits = [] {
    std::array<int8_t, 64> bits{};
    for (int8_t bit = 0; bit < 64; ++bit) bits[(kDeBruijn << bit) >> 58] = bit;
    return bits;
  }();
  return kBits[((word & (~word + 1)) * kDeBruijn) >> 58];
}

/*! \brief Return the lowest set bit from word `*word` on; -1 if there is none. */
int32_t First(const Words& words, size_t* word) {
  while (*word < words.size() && words[*word] == 0) ++*word;
  if (*word == words.size()) return -1;
  return static_cast<int32_t>(*word * 64) + LowestBit(words[*word]);
}

/*!
 * \brief Return the neighbors of each vertex as bit sets. Vertices are items, in the given order.
 *
 * If two spans intersect, one is live where the other begins.
 */
std::vector<Words> Adjacency(const PoolProblem& problem, const std::vector<int32_t>& order) {
  struct Change {
    int32_t section;
    bool begins;
    int32_t vertex;
  };
  const size_t n = order.size();
  std::vector<int32_t> vertex_of(n);
  std::vector<Change> changes;
  for (size_t v = 0; v < n; ++v) {
    vertex_of[order[v]] = v;
    for (const PoolProblem::Span& span : problem.SpansOf(problem.items[order[v]])) {
      changes.push_back({span.begin, true, static_cast<int32_t>(v)});
      changes.push_back({span.end, false, static_cast<int32_t>(v)});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& lhs, const Change& rhs) {
    return std::tuple(lhs.section, lhs.begins, lhs.vertex) <
           std::tuple(rhs.section, rhs.begins, rhs.vertex);
  });
  std::vector<Words> adjacent(n, Words((n + 63) / 64, 0));
  Words live((n + 63) / 64, 0);
  for (const Change& change : changes) {
    if (!change.begins) {
      Clear(&live, change.vertex);
      continue;
    }
    for (size_t w = 0; w < live.size(); ++w) adjacent[change.vertex][w] |= live[w];
    Set(&live, change.vertex);
  }
  for (size_t v = 0; v < n; ++v) {
    Words later = adjacent[v];
    size_t word = 0;
    for (int32_t u = First(later, &word); u >= 0; u = First(later, &word)) {
      Set(&adjacent[u], v);
      Clear(&later, u);
    }
  }
  for (const PoolProblem::Overlap& overlap : problem.overlaps) {
    Clear(&adjacent[vertex_of[overlap.output]], vertex_of[overlap.input]);
    Clear(&adjacent[vertex_of[overlap.input]], vertex_of[overlap.output]);
  }
  return adjacent;
}

/*!
 * \brief Branch and bound for the heaviest clique.
 *
 * Vertices come by falling weight. To bound the weight that a set of vertices adds, it is split
 * into independent sets: a clique has at most one vertex of each (Babel, "A fast algorithm for the
 * maximum weight clique problem", 1994).
 */
class HeaviestClique {
 public:
  HeaviestClique(std::vector<Words> adjacent, std::vector<int64_t> weights,
                 std::vector<int64_t> added, Budget* budget)
      : adjacent_(std::move(adjacent)),
        weights_(std::move(weights)),
        added_(std::move(added)),
        least_added_(*std::min_element(added_.begin(), added_.end())),
        budget_(budget) {}

  /*! \brief Search for cliques higher than `bound`. */
  void Search(int64_t bound) {
    height_ = bound;
    Words all(adjacent_[0].size(), 0);
    for (size_t v = 0; v < adjacent_.size(); ++v) Set(&all, v);
    Extend(all, 0, 0);
  }

  /*! \brief Return the height of the highest clique, or `bound` if none is higher. */
  int64_t height() const { return height_; }

  /*! \brief Return the vertices of the highest clique; empty if there is none. */
  const std::vector<int32_t>& clique() const { return best_; }

 private:
  /*! \brief A vertex, and an upper bound of the weight that the candidates up to it add. */
  struct Candidate {
    int32_t vertex;
    int64_t most;
  };

  std::vector<Candidate> Color(Words candidates) {
    std::vector<Candidate> colored;
    int64_t most = 0;
    size_t word = 0;
    for (int32_t v = First(candidates, &word); v >= 0; v = First(candidates, &word)) {
      most += weights_[v];
      Words free = candidates;
      size_t free_word = word;
      for (; v >= 0; v = First(free, &free_word)) {
        colored.push_back({v, most});
        Clear(&candidates, v);
        Clear(&free, v);
        for (size_t w = free_word; w < free.size(); ++w) free[w] &= ~adjacent_[v][w];
      }
      budget_->Spend(static_cast<int64_t>(candidates.size()));
    }
    return colored;
  }

  /*!
   * \brief Extend the clique by `candidates`, and keep the best clique.
   *
   * \param weight sum of the rounded sizes in the clique.
   * \param most_added the most bytes that rounding added to a member. It may be the topmost
   *   member, whose size needs no rounding.
   */
  void Extend(Words candidates, int64_t weight, int64_t most_added) {
    if (!clique_.empty() && weight - most_added > height_) {
      height_ = weight - most_added;
      best_ = clique_;
    }
    const std::vector<Candidate> colored = Color(candidates);
    for (size_t k = colored.size(); k-- > 0;) {
      if (weight + colored[k].most - std::max(most_added, least_added_) <= height_) return;
      if (!budget_->Spend(static_cast<int64_t>(candidates.size()))) return;
      const int32_t v = colored[k].vertex;
      Words common = candidates;
      for (size_t w = 0; w < common.size(); ++w) common[w] &= adjacent_[v][w];
      clique_.push_back(v);
      Extend(std::move(common), weight + weights_[v], std::max(most_added, added_[v]));
      clique_.pop_back();
      Clear(&candidates, v);
    }
  }

  const std::vector<Words> adjacent_;
  const std::vector<int64_t> weights_;
  const std::vector<int64_t> added_;
  const int64_t least_added_;
  Budget* const budget_;
  std::vector<int32_t> clique_;
  std::vector<int32_t> best_;
  int64_t height_ = 0;
};

bool SectionsAreAllCliques(const PoolProblem& problem) {
  return problem.num_sections == problem.num_time_sections &&
         problem.spans.size() == problem.items.size();
}

}  // namespace

int64_t CliqueBound(const PoolProblem& problem, int64_t bound, Budget* budget) {
  const size_t n = problem.items.size();
  if (n == 0 || n > kMaxCliqueItems || SectionsAreAllCliques(problem)) return bound;
  int64_t unit = 0;
  std::optional<int64_t> total = 0;
  for (const PoolProblem::Item& item : problem.items) unit = std::gcd(unit, item.alignment);
  std::vector<int64_t> rounded(n);
  for (size_t i = 0; i < n; ++i) {
    const std::optional<int64_t> size = AlignUp(problem.items[i].size, unit);
    total = size && total ? CheckedAdd(*total, *size) : std::nullopt;
    if (!total) return bound;
    rounded[i] = *size;
  }
  std::vector<int32_t> order = AllItems(problem);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t lhs, int32_t rhs) { return rounded[lhs] > rounded[rhs]; });
  std::vector<int64_t> weights, added;
  for (int32_t i : order) {
    weights.push_back(rounded[i]);
    added.push_back(rounded[i] - problem.items[i].size);
  }
  HeaviestClique search(Adjacency(problem, order), weights, added, budget);
  search.Search(bound);
  std::vector<PoolProblem::Item> stack;
  for (int32_t v : search.clique()) stack.push_back(problem.items[order[v]]);
  return StackHeight(stack, search.height(), budget);
}

}  // namespace usmp
