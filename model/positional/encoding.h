// A positional encoding tells self-attention where each token stands; without one an encoder cannot
// tell word orders apart. One variant is one file, picked by the name in the model's configuration.
//
// A variant acts through the hooks below; a hook that is not overridden changes nothing. Objects
// are immutable once made: hooks are const and safe to call from many threads at once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heed {

class PositionalEncoding {
 public:
  virtual ~PositionalEncoding() = default;

  // Token embeddings before the first norm and layer. x: [T, D] float32, positions: [T] int64.
  // Returns [T, D].
  virtual at::Tensor AddToEmbeddings(at::Tensor x, const at::Tensor& positions) const {
    (void)positions;
    return x;
  }

  // Positions 0 … limit-1 can be encoded; 0: any position can.
  virtual int64_t position_limit() const { return 0; }
};

// What a variant is made from.
struct EncodingSpec {
  int64_t hidden_size = 0;
  int64_t head_count = 0;
  int64_t layer_count = 0;
  // The variant's own settings; a variant refuses one it does not know, by name.
  std::map<std::string, std::string> options;
  // The model's tensor of that role ("positional.table"), or nothing.
  std::function<std::optional<at::Tensor>(absl::string_view role)> weight;
};

using EncodingFactory =
    std::function<absl::StatusOr<std::unique_ptr<PositionalEncoding>>(const EncodingSpec&)>;

// The variant registered under `name`. Errors: UNIMPLEMENTED for an unknown name (the message lists
// those there are), otherwise what the variant says of its options or weights.
absl::StatusOr<std::unique_ptr<PositionalEncoding>> MakePositionalEncoding(
    absl::string_view name, const EncodingSpec& spec);

// Every registered name, in alphabetical order.
std::vector<std::string> PositionalEncodingNames();

// For the variants: an error that names the first option not in `known`.
absl::Status CheckOptions(const EncodingSpec& spec, absl::string_view encoding,
                          const std::vector<absl::string_view>& known);

}  // namespace heed
