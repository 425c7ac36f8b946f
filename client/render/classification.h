// Classified texts as a table that can be printed while results still arrive.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/render/terminal.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/common.pb.h"

namespace heed::cli {

// One text and what the model says about it.
struct ResultRow {
  v1::TextInput input;
  v1::Classification result;
};

// Columns get wider as longer labels arrive, never narrower. Not thread-safe.
class ClassificationTable {
 public:
  // `logits`: show each label's logit as well.
  ClassificationTable(const Style& style, bool logits) : style_(style), logits_(logits) {}

  // The next rows, the title line before the first; a line per label, the text beside the best.
  // Texts are escaped and elided to Style::columns.
  std::string Render(const std::vector<ResultRow>& rows);

 private:
  void AppendRow(const ResultRow& row, std::string* out) const;
  // The columns left of the text.
  std::string LabelCells(const v1::Classification& result, const v1::LabelScore& label) const;

  const Style style_;
  const bool logits_;
  bool title_printed_ = false;
  size_t label_width_ = 5;  // "LABEL"
};

}  // namespace heed::cli
