#include "client/render/models.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

// More labels than this are counted, not named.
constexpr int kMaxNamedLabels = 4;

std::string Limit(uint32_t max_tokens) {
  return max_tokens == 0 ? "unlimited" : FormatCount(max_tokens);
}

std::string Labels(const v1::Model& model) {
  if (model.labels_size() > kMaxNamedLabels) return absl::StrCat(model.labels_size(), " labels");
  return Elide(Escape(absl::StrJoin(model.labels(), ", ")), 40);
}

std::string Memory(const v1::Model& model) {
  return FormatBytes(static_cast<double>(model.weights_bytes()) +
                     static_cast<double>(model.packed_bytes()));
}

}  // namespace

std::string RenderModels(const v1::ListModelsResponse& response, const Style& style) {
  const std::vector<Column> columns = {{"NAME"},
                                       {"ARCHITECTURE"},
                                       {"ENCODING"},
                                       {"LAYERS×HEADS", true},
                                       {"MAX TOKENS", true},
                                       {"PRECISION"},
                                       {"DEVICE"},
                                       {"MEMORY", true},
                                       {"LABELS"}};
  std::vector<std::vector<std::string>> rows;
  for (const v1::Model& model : response.models()) {
    rows.push_back({absl::StrCat(Escape(model.name()), model.default_() ? " *" : ""),
                    Escape(model.architecture()), Escape(model.positional_encoding()),
                    absl::StrCat(model.layer_count(), "×", model.head_count()),
                    Limit(model.max_tokens()), Escape(model.precision()), Escape(model.device()),
                    Memory(model), Labels(model)});
  }
  return RenderTable(columns, rows, style);
}

std::string RenderModel(const v1::Model& model, const Style& style) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"name", absl::StrCat(model.name(), model.default_() ? " (default)" : "")},
      {"version", model.version()},
      {"architecture", model.architecture()},
      {"task", model.task()},
      {"labels", absl::StrJoin(model.labels(), ", ")},
      {"positional encoding", model.positional_encoding()},
      {"attention pattern", model.attention_pattern()},
      {"layers", absl::StrCat(model.layer_count())},
      {"heads", absl::StrCat(model.head_count())},
      {"hidden size", absl::StrCat(model.hidden_size())},
      {"max tokens", Limit(model.max_tokens())},
      {"text pairs", model.accepts_pairs() ? "yes" : "no"},
      {"precision", model.precision()},
      {"device", model.device()},
      {"parameters", FormatCount(model.parameter_count())},
      {"weights", FormatBytes(static_cast<double>(model.weights_bytes()))},
      {"packed weights", FormatBytes(static_cast<double>(model.packed_bytes()))}};
  size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : lines) {
    const std::string title = PadRight(absl::StrCat(name, ":"), width + 1);
    absl::StrAppend(&out, Paint(title, Color::kBold, style), " ", Escape(value), "\n");
  }
  return out;
}

std::string RenderTokens(const v1::TokenizedText& result, const Style& style) {
  const std::vector<Column> columns = {{"#", true},     {"PIECE"},       {"ID", true},
                                       {"BYTES", true}, {"CHARS", true}, {"SEGMENT", true},
                                       {"SPECIAL"}};
  std::vector<std::vector<std::string>> rows;
  for (const v1::Token& token : result.tokens()) {
    const bool placed = !token.special();
    rows.push_back({absl::StrCat(rows.size()), Escape(token.piece()), absl::StrCat(token.id()),
                    placed ? absl::StrCat(token.start_byte(), "-", token.end_byte()) : "-",
                    placed ? absl::StrCat(token.start_char(), "-", token.end_char()) : "-",
                    absl::StrCat(token.segment()), token.special() ? "special" : ""});
  }
  return RenderTable(columns, rows, style);
}

}  // namespace heed::cli
