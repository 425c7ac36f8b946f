#include "client/render/json_util.h"

#include <charconv>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace heed::cli {

// JSON escapes only C0. DEL, C1 (two bytes, C2 80 … C2 9F) and the bidirectional controls are
// outside ASCII only inside strings, where \u is the same character.
std::string Dump(const Json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&text](size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
    };
    if (byte(i) == 0x7F) {
      absl::StrAppend(&result, "\\u007f");
    } else if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) {
      absl::StrAppendFormat(&result, "\\u%04x", byte(i + 1));
      i += 1;
    } else if (byte(i) == 0xE2 && byte(i + 1) == 0x80 && byte(i + 2) >= 0xA8 &&
               byte(i + 2) <= 0xAE) {
      absl::StrAppendFormat(&result, "\\u20%02x", byte(i + 2) - 0x80);
      i += 2;
    } else if (byte(i) == 0xE2 && byte(i + 1) == 0x81 && byte(i + 2) >= 0xA6 &&
               byte(i + 2) <= 0xA9) {
      absl::StrAppendFormat(&result, "\\u20%02x", byte(i + 2) - 0x40);
      i += 2;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

Json Shortest(float value) {
  if (!std::isfinite(value)) return nullptr;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  double result = 0.0;
  if (!absl::SimpleAtod(absl::string_view(digits, static_cast<size_t>(end - digits)), &result)) {
    return value;
  }
  return result;
}

Json UsageJson(const v1::TokenUsage& usage) {
  return {{"token_count", usage.token_count()},
          {"original_token_count", usage.original_token_count()},
          {"truncated", usage.truncated()},
          {"chunk_count", usage.chunk_count()}};
}

Json LabelsJson(const v1::Classification& result) {
  Json labels = Json::array();
  for (const v1::LabelScore& label : result.labels()) {
    labels.push_back({{"label", label.label()},
                      {"label_id", label.label_id()},
                      {"score", Shortest(label.score())}});
  }
  return labels;
}

Json TokenJson(const v1::Token& token) {
  return {{"piece", token.piece()},           {"id", token.id()},
          {"start_byte", token.start_byte()}, {"end_byte", token.end_byte()},
          {"start_char", token.start_char()}, {"end_char", token.end_char()},
          {"segment", token.segment()},       {"special", token.special()}};
}

}  // namespace heed::cli
