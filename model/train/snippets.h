// Reads the human-rated snippets: tab-separated lines of id, mean rating in [-4, 4] and text.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/train/split.h"

namespace heed {

struct Snippet {
  std::string id;
  double rating = 0;  // mean over the raters; -4 most negative, 4 most positive
  std::string text;   // UTF-8; lines of the file that are not are read as Latin-1
  Split split = Split::kTrain;

  // 0 negative, 1 positive.
  int label() const { return rating > 0 ? 1 : 0; }
};

// Snippets of the file with |rating| >= min_abs_rating, split by SplitOf(stem of the file, id).
// Errors: NOT_FOUND; INVALID_ARGUMENT with the line number for a malformed line.
absl::StatusOr<std::vector<Snippet>> ReadSnippets(const std::string& path, double min_abs_rating);

// The same from the file's content.
absl::StatusOr<std::vector<Snippet>> ParseSnippets(absl::string_view content,
                                                   absl::string_view data_set,
                                                   double min_abs_rating);

}  // namespace heed
