#include "client/render/classification.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr size_t kBarColumns = 10;
constexpr size_t kScoreColumns = 6;
constexpr size_t kLogitColumns = 8;
// A long label must leave room for the text.
constexpr size_t kMaxLabelColumns = 32;
constexpr size_t kMinTextColumns = 10;

std::string ShownLabel(const v1::LabelScore& label) {
  return Elide(Escape(label.label()), kMaxLabelColumns);
}

std::string TruncationMark(const v1::TokenUsage& usage) {
  if (!usage.truncated()) return "";
  return absl::StrCat(" [truncated: ", usage.token_count(), " of ", usage.original_token_count(),
                      " tokens]");
}

std::string ShownText(const v1::TextInput& input) {
  if (!input.has_text_pair()) return Escape(input.text());
  return absl::StrCat(Escape(input.text()), " | ", Escape(input.text_pair()));
}

}  // namespace

std::string ClassificationTable::Render(const std::vector<ResultRow>& rows) {
  for (const ResultRow& row : rows) {
    for (const v1::LabelScore& label : row.result.labels()) {
      label_width_ = std::max(label_width_, DisplayWidth(ShownLabel(label)));
    }
  }
  std::string out;
  if (!title_printed_ && !rows.empty()) {
    std::string title =
        absl::StrCat(PadRight("LABEL", label_width_), "  ", PadLeft("SCORE", kScoreColumns), "  ",
                     std::string(kBarColumns, ' '), "  ");
    if (logits_) absl::StrAppend(&title, PadLeft("LOGIT", kLogitColumns), "  ");
    absl::StrAppend(&out, Paint(absl::StrCat(title, "TEXT"), Color::kBold, style_), "\n");
    title_printed_ = true;
  }
  for (const ResultRow& row : rows) AppendRow(row, &out);
  return out;
}

void ClassificationTable::AppendRow(const ResultRow& row, std::string* out) const {
  const std::string mark = TruncationMark(row.result.usage());
  bool first = true;
  for (const v1::LabelScore& label : row.result.labels()) {
    const std::string cells = LabelCells(row.result, label);
    if (first) {
      size_t room = 0;
      if (style_.columns > 0) {
        const size_t used = DisplayWidth(cells) + mark.size();
        room = std::max(style_.columns > used ? style_.columns - used : 0, kMinTextColumns);
      }
      absl::StrAppend(out, cells, Elide(ShownText(row.input), room),
                      Paint(mark, Color::kYellow, style_));
    } else {
      absl::StrAppend(out, cells);
    }
    out->erase(out->find_last_not_of(' ') + 1);
    absl::StrAppend(out, "\n");
    first = false;
  }
}

std::string ClassificationTable::LabelCells(const v1::Classification& result,
                                            const v1::LabelScore& label) const {
  std::string cells = absl::StrCat(PadRight(ShownLabel(label), label_width_), "  ",
                                   absl::StrFormat("%*.4f", kScoreColumns, label.score()), "  ",
                                   Bar(label.score(), kBarColumns), "  ");
  if (logits_) {
    const auto id = static_cast<int>(label.label_id());
    const bool known = id >= 0 && id < result.logits_size();
    absl::StrAppend(&cells,
                    known ? absl::StrFormat("%*.4f", kLogitColumns, result.logits(id))
                          : PadLeft("-", kLogitColumns),
                    "  ");
  }
  return cells;
}

}  // namespace heed::cli
