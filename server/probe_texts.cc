#include "server/probe_texts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace heed {

uint64_t ProbeRandom::Below(uint64_t bound) {
  // Values beyond the last whole multiple of the bound would favour the small ones.
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const uint64_t limit = most - most % bound;
  uint64_t value = engine_();
  while (value >= limit) value = engine_();
  return value % bound;
}

std::vector<int64_t> TextTokens(absl::Span<const TokenDetail> tokens) {
  std::vector<int64_t> places;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].special) places.push_back(static_cast<int64_t>(i));
  }
  return places;
}

std::vector<int64_t> RandomOrder(absl::Span<const TokenDetail> tokens, ProbeRandom& random) {
  std::vector<int64_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::map<uint32_t, std::vector<int64_t>> segments;
  for (const int64_t place : TextTokens(tokens)) {
    segments[tokens[static_cast<size_t>(place)].segment].push_back(place);
  }
  for (const auto& [segment, places] : segments) {
    std::vector<int64_t> shuffled = places;
    random.Shuffle(shuffled);
    for (size_t i = 0; i < places.size(); ++i) order[static_cast<size_t>(places[i])] = shuffled[i];
  }
  return order;
}

TokenIds Reordered(const TokenIds& text, absl::Span<const int64_t> order) {
  TokenIds result = text;
  for (size_t i = 0; i < order.size(); ++i) {
    result.ids[i] = text.ids[static_cast<size_t>(order[i])];
    result.segments[i] = text.segments[static_cast<size_t>(order[i])];
  }
  return result;
}

TokenIds Masked(const TokenIds& text, absl::Span<const TokenDetail> tokens, double fraction,
                std::optional<int64_t> mask, ProbeRandom& random) {
  std::vector<int64_t> places = TextTokens(tokens);
  const auto count = static_cast<double>(places.size());
  auto hidden =
      static_cast<size_t>(std::clamp(std::round(fraction * count), std::min(1.0, count), count));
  if (!mask.has_value()) hidden = std::min(hidden, text.size() - 1);
  random.Shuffle(places);
  places.resize(hidden);
  TokenIds result = text;
  if (mask.has_value()) {
    for (const int64_t place : places) result.ids[static_cast<size_t>(place)] = *mask;
    return result;
  }
  std::sort(places.begin(), places.end(), std::greater<>());
  for (const int64_t place : places) {
    result.ids.erase(result.ids.begin() + place);
    result.segments.erase(result.segments.begin() + place);
  }
  return result;
}

std::optional<int64_t> FindMaskToken(const Tokenizer& tokenizer) {
  // As the families spell it; a tokenizer without such a token makes several of the text, or none
  // of that name.
  for (const char* const name : {"[MASK]", "<mask>", "<|mask|>"}) {
    EncodeOptions options;
    options.with_tokens = true;
    const absl::StatusOr<TokenizedItem> item = tokenizer.Encode(name, std::nullopt, options);
    if (!item.ok()) continue;
    for (const TokenDetail& token : item->tokens) {
      if (token.piece == name) return token.id;
    }
  }
  return std::nullopt;
}

}  // namespace heed
