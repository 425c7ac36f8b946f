// One self-contained page that shows attention to people who would rather look than read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/attention_data.h"

namespace heed::cli {

// What the page shows. The pointers must live until the page is made; only `weights` is needed.
struct AttentionPage {
  // What was sent; the tokens' offsets point into it. The page shows the tokens alone where both
  // are empty.
  std::string text;
  std::string text_pair;
  // Unreduced or MEAN_HEADS, with or without top_k: weights left out by it are shown as such
  // (rounded pages, below, excepted).
  const AttentionData* weights = nullptr;
  // ROLLOUT of the same rows and columns; nullptr: the page does not offer it.
  const AttentionData* rollout = nullptr;
  // ENTROPY of the same layers, heads and rows; nullptr: the page does not offer it.
  const AttentionData* entropy = nullptr;
  // One number a token of weights->header, such as Classification.token_importance; empty: none.
  std::vector<float> importance;
  // Which importance that is, as in "rollout to [CLS]".
  std::string importance_name;
};

// Weights are in the page as float32, so that it shows exactly the numbers of `weights`, as long as
// they take no more than kMaxExactPageBytes; beyond, each is rounded to 1/255 of its row's largest
// (what top_k left out to 0), and the page says so. Rollout and entropy are always exact.
inline constexpr size_t kMaxExactPageBytes = 32 << 20;
// Most weights of a page.
inline constexpr size_t kMaxPageWeights = 64 << 20;

// The page as UTF-8 HTML. It loads nothing: scripts, styles and data are inside, and its own
// content security policy forbids the rest. No text or token can become markup. INVALID_ARGUMENT
// where the parts do not fit each other, the reduction is none of those above, or there are more
// than kMaxPageWeights weights.
absl::StatusOr<std::string> RenderAttentionPage(const AttentionPage& page);

// The same into a file, replacing what is there. Also NOT_FOUND, PERMISSION_DENIED or UNKNOWN, with
// the path and the system's reason, where it cannot be written.
absl::Status WriteAttentionPage(const std::string& path, const AttentionPage& page);

}  // namespace heed::cli
