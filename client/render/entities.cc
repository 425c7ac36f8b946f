#include "client/render/entities.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

// What is left of a title line must leave room for some of the text.
constexpr size_t kMinTextColumns = 10;
constexpr size_t kMaxLabelColumns = 32;

std::string CountWords(const v1::Classification& result) {
  const int count = result.entities_size();
  std::string words = count == 0   ? "no entities"
                      : count == 1 ? "1 entity"
                                   : absl::StrCat(count, " entities");
  const v1::TokenUsage& usage = result.usage();
  if (usage.truncated()) {
    absl::StrAppend(&words, " [truncated: ", usage.token_count(), " of ",
                    usage.original_token_count(), " tokens]");
  }
  return words;
}

std::string TitleLine(const v1::TextInput& input, const v1::Classification& result,
                      const Style& style) {
  const std::string words = CountWords(result);
  size_t room = 0;
  if (style.columns > 0) {
    const size_t used = words.size() + 2;
    room = style.columns > used + kMinTextColumns ? style.columns - used : kMinTextColumns;
  }
  std::string text = Escape(input.text());
  if (input.has_text_pair()) absl::StrAppend(&text, " | ", Escape(input.text_pair()));
  return absl::StrCat(Elide(text, room), "  ", Paint(words, Color::kDim, style), "\n");
}

}  // namespace

absl::string_view EntityText(const v1::TextInput& input, const v1::Entity& entity) {
  const std::string& text = entity.segment() == 1 ? input.text_pair() : input.text();
  if (entity.start_byte() > entity.end_byte() || entity.end_byte() > text.size()) return "";
  return absl::string_view(text).substr(entity.start_byte(),
                                        entity.end_byte() - entity.start_byte());
}

std::string RenderEntities(uint64_t index, const v1::TextInput& input,
                           const v1::Classification& result, const Style& style) {
  std::string out = absl::StrCat(index > 0 ? "\n" : "", TitleLine(input, result, style));
  if (result.entities().empty()) return out;
  const bool pair = input.has_text_pair();
  std::vector<Column> columns = {{"LABEL"}, {"SCORE", true}, {"BYTES", true}, {"CHARS", true}};
  if (pair) columns.push_back({"SEGMENT", true});
  columns.push_back({"ENTITY"});
  std::vector<std::vector<std::string>> rows;
  for (const v1::Entity& entity : result.entities()) {
    std::vector<std::string> row = {Elide(Escape(entity.label()), kMaxLabelColumns),
                                    absl::StrFormat("%.4f", entity.score()),
                                    absl::StrCat(entity.start_byte(), "-", entity.end_byte()),
                                    absl::StrCat(entity.start_char(), "-", entity.end_char())};
    if (pair) row.push_back(absl::StrCat(entity.segment()));
    row.push_back(Escape(EntityText(input, entity)));
    rows.push_back(std::move(row));
  }
  return absl::StrCat(out, RenderTable(columns, rows, style));
}

}  // namespace heed::cli
