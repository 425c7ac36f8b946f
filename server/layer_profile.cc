#include "server/layer_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/probe_texts.h"

namespace heed {
namespace {

// The variance between groups; see the header.
double BetweenGroups(const std::vector<double>& sums, const std::vector<int64_t>& counts,
                     double squares) {
  double groups = 0;
  double total = 0;
  double count_squares = 0;
  double sum = 0;
  double group_squares = 0;
  for (size_t g = 0; g < sums.size(); ++g) {
    if (counts[g] == 0) continue;
    const auto n = static_cast<double>(counts[g]);
    groups += 1;
    total += n;
    count_squares += n * n;
    sum += sums[g];
    group_squares += sums[g] * sums[g] / n;
  }
  if (groups < 2 || total <= groups) return 0;
  const double between = (group_squares - sum * sum / total) / (groups - 1);
  const double within = (squares - group_squares) / (total - groups);
  const double size = (total - count_squares / total) / (groups - 1);
  return std::max(0.0, (between - within) / size);
}

}  // namespace

LayerProfile::LayerProfile(int64_t head_count, absl::Span<const TokenDetail> tokens)
    : places_(TextTokens(tokens)), heads_(static_cast<size_t>(head_count)) {
  const size_t pairs = places_.size() * places_.size();
  for (Head& head : heads_) {
    head.position_sums.resize(pairs);
    head.content_sums.resize(pairs);
  }
  position_counts_.resize(pairs);
  content_counts_.resize(pairs);
  if (!places_.empty()) index_of_place_.resize(static_cast<size_t>(places_.back()) + 1, -1);
  for (size_t i = 0; i < places_.size(); ++i) {
    index_of_place_[static_cast<size_t>(places_[i])] = static_cast<int64_t>(i);
    segments_.push_back(tokens[static_cast<size_t>(places_[i])].segment);
  }
}

double LayerProfile::Bytes(int64_t head_count, int64_t place_count) {
  const auto m = static_cast<double>(place_count);
  return (static_cast<double>(head_count) + 1) * 16 * m * m;
}

void LayerProfile::Add(const AttentionMap& scores, absl::Span<const int64_t> order) {
  const size_t m = places_.size();
  const auto n = static_cast<size_t>(scores.key_count);
  const size_t segment_count =
      m == 0 ? 0 : size_t{1} + *std::max_element(segments_.begin(), segments_.end());
  std::vector<double> row(m);
  std::vector<double> means;  // by segment
  std::vector<double> seen;
  for (size_t h = 0; h < heads_.size(); ++h) {
    Head& head = heads_[h];
    for (size_t p = 0; p < m; ++p) {
      const float* const values = &scores.weights[(h * n + static_cast<size_t>(places_[p])) * n];
      means.assign(segment_count, 0);
      seen.assign(segment_count, 0);
      for (size_t q = 0; q < m; ++q) {
        row[q] = values[places_[q]];
        if (p == q || !std::isfinite(row[q])) continue;
        means[segments_[q]] += row[q];
        seen[segments_[q]] += 1;
      }
      for (size_t s = 0; s < segment_count; ++s) means[s] /= std::max(1.0, seen[s]);
      const int64_t a = index_of_place_[static_cast<size_t>(order[places_[p]])];
      for (size_t q = 0; q < m; ++q) {
        if (p == q || !std::isfinite(row[q]) || seen[segments_[q]] < 2) continue;
        const double score = row[q] - means[segments_[q]];
        const int64_t b = index_of_place_[static_cast<size_t>(order[places_[q]])];
        const size_t position = p * m + q;
        const size_t content = static_cast<size_t>(a) * m + static_cast<size_t>(b);
        head.position_sums[position] += score;
        head.content_sums[content] += score;
        head.squares += score * score;
        if (h > 0) continue;
        ++position_counts_[position];
        ++content_counts_[content];
      }
    }
  }
}

std::vector<ScoreVariance> LayerProfile::Variances() const {
  double total = 0;
  for (const int64_t count : position_counts_) total += static_cast<double>(count);
  std::vector<ScoreVariance> variances;
  for (const Head& head : heads_) {
    ScoreVariance& variance = variances.emplace_back();
    if (total == 0) continue;
    // Every row's mean is 0.
    variance.total = head.squares / total;
    variance.position = BetweenGroups(head.position_sums, position_counts_, head.squares);
    variance.content = BetweenGroups(head.content_sums, content_counts_, head.squares);
  }
  return variances;
}

}  // namespace heed
