#include "server/entities.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace heed {
namespace {

constexpr absl::string_view kIgnoredLabel = "O";

// A token, or a word, and what the model says of it.
struct Unit {
  absl::string_view label;
  float score = 0;
  const TokenDetail* first = nullptr;
  const TokenDetail* last = nullptr;
};

bool Begins(absl::string_view label) { return absl::StartsWith(label, "B-"); }

absl::string_view TagOf(absl::string_view label) {
  return Begins(label) || absl::StartsWith(label, "I-") ? label.substr(2) : label;
}

// transformers names a group by other rules than it compares by: "E-PER" is a tag of its own, and
// the group's name is "PER".
absl::string_view GroupName(absl::string_view label) {
  const size_t dash = label.find('-');
  return dash == absl::string_view::npos ? label : label.substr(dash + 1);
}

std::vector<Unit> LabelTokens(absl::Span<const TokenDetail> tokens, absl::Span<const float> scores,
                              absl::Span<const std::string> labels) {
  std::vector<Unit> units;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].special) continue;
    const absl::Span<const float> row = scores.subspan(i * labels.size(), labels.size());
    const auto best = std::max_element(row.begin(), row.end());
    const auto id = static_cast<size_t>(best - row.begin());
    units.push_back({labels[id], *best, &tokens[i], &tokens[i]});
  }
  return units;
}

bool SameWord(const TokenDetail& a, const TokenDetail& b) {
  return a.word >= 0 && a.word == b.word && a.segment == b.segment;
}

std::vector<Unit> JoinWords(const std::vector<Unit>& tokens) {
  std::vector<Unit> words;
  for (const Unit& token : tokens) {
    if (!words.empty() && SameWord(*words.back().last, *token.first)) {
      words.back().last = token.last;
    } else {
      words.push_back(token);
    }
  }
  return words;
}

EntitySpan MakeSpan(absl::string_view label, float score, const TokenDetail& first,
                    const TokenDetail& last) {
  return {std::string(label), score,         first.start_byte, last.end_byte,
          first.start_char,   last.end_char, first.segment};
}

// `units` in groups of one tag, the ignored ones left out.
std::vector<EntitySpan> Group(const std::vector<Unit>& units) {
  std::vector<EntitySpan> entities;
  for (size_t begin = 0, end = 0; begin < units.size(); begin = end) {
    double sum = 0;
    do {
      sum += units[end++].score;
    } while (end < units.size() && !Begins(units[end].label) &&
             TagOf(units[end].label) == TagOf(units[begin].label) &&
             units[end].first->segment == units[begin].first->segment);
    const absl::string_view name = GroupName(units[begin].label);
    if (name == kIgnoredLabel) continue;
    const auto mean = static_cast<float>(sum / static_cast<double>(end - begin));
    entities.push_back(MakeSpan(name, mean, *units[begin].first, *units[end - 1].last));
  }
  return entities;
}

std::vector<EntitySpan> OnePerToken(const std::vector<Unit>& tokens) {
  std::vector<EntitySpan> entities;
  for (const Unit& token : tokens) {
    if (token.label == kIgnoredLabel) continue;
    entities.push_back(MakeSpan(token.label, token.score, *token.first, *token.last));
  }
  return entities;
}

}  // namespace

std::vector<EntitySpan> FindEntities(absl::Span<const TokenDetail> tokens,
                                     absl::Span<const float> scores,
                                     absl::Span<const std::string> labels,
                                     EntityAggregation aggregation) {
  const std::vector<Unit> units = LabelTokens(tokens, scores, labels);
  switch (aggregation) {
    case EntityAggregation::kNone:
      return OnePerToken(units);
    case EntityAggregation::kFirst:
      return Group(JoinWords(units));
    case EntityAggregation::kSimple:
      break;
  }
  return Group(units);
}

}  // namespace heed
