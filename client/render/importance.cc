#include "client/render/importance.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/render/heatmap.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr size_t kBarColumns = 20;
constexpr size_t kPieceColumns = 24;

// What the brightest shade stands for. Special tokens often outweigh all others, and have no place
// in the text.
float Largest(const v1::Classification& result) {
  float largest = 0.0f;
  for (int i = 0; i < result.tokens_size(); ++i) {
    if (!result.tokens(i).special()) largest = std::max(largest, result.token_importance(i));
  }
  return largest;
}

// `text` with its tokens shaded; what belongs to no token stays as it is.
std::string ShadeText(const std::string& text, uint32_t segment, const v1::Classification& result,
                      const Style& style) {
  const float largest = Largest(result);
  const absl::string_view all = text;
  std::string shaded;
  size_t done = 0;
  for (int i = 0; i < result.tokens_size(); ++i) {
    const v1::Token& token = result.tokens(i);
    const size_t start = token.start_byte(), end = token.end_byte();
    // Tokens may share a character; it is shown with the first.
    if (token.special() || token.segment() != segment || start < done || end <= start ||
        end > all.size()) {
      continue;
    }
    const float level = largest > 0.0f ? result.token_importance(i) / largest : 0.0f;
    absl::StrAppend(
        &shaded, Escape(all.substr(done, start - done)),
        Shade(Escape(all.substr(start, end - start)), static_cast<double>(level), style));
    done = end;
  }
  return absl::StrCat(shaded, Escape(all.substr(done)), "\n");
}

}  // namespace

std::string RenderImportance(const v1::TextInput& input, const v1::Classification& result,
                             const Style& style) {
  if (result.tokens().empty() || result.tokens_size() != result.token_importance_size()) return "";
  if (style.color && style.palette != Palette::kShadeCharacters) {
    std::string text = ShadeText(input.text(), 0, result, style);
    if (input.has_text_pair()) {
      absl::StrAppend(&text, ShadeText(input.text_pair(), 1, result, style));
    }
    return text;
  }
  const float largest = Largest(result);
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < result.tokens_size(); ++i) {
    const v1::Token& token = result.tokens(i);
    const float importance = result.token_importance(i);
    const float share = largest > 0.0f && !token.special() ? importance / largest : 0.0f;
    rows.push_back({absl::StrCat(i), Elide(Escape(token.piece()), kPieceColumns),
                    absl::StrFormat("%.4f", importance),
                    Bar(static_cast<double>(share), kBarColumns)});
  }
  return RenderTable({{"#", true}, {"PIECE"}, {"IMPORTANCE", true}, {""}}, rows, style);
}

}  // namespace heed::cli
