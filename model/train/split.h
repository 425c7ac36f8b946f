// The one place that says which snippet is for training, which for choosing, which for the final
// figure. Every program that trains or evaluates on the snippets uses it, so that no figure is ever
// measured on a text that some head was trained on.
#pragma once

#include "absl/strings/string_view.h"

namespace heed {

enum class Split { kTrain, kValidation, kTest };

// By hash of `data_set` and `id` alone (FNV-1a, 64 bits, then the splitmix64 finaliser), so that it
// depends on neither order nor size nor machine: 8 of 10 buckets train, 1 validates, 1 tests.
Split SplitOf(absl::string_view data_set, absl::string_view id);

}  // namespace heed
