// Learned absolute positions: one trained vector a position, added to the token embedding.
// Source: Devlin et al., "BERT", NAACL 2019, arXiv:1810.04805, section 3 (figure 2). A position
// beyond the table has no vector: it is an error, never clamped or wrapped.

#include <ATen/ops/embedding.h>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "model/positional/encoding.h"

namespace heed {
namespace {

class Learned : public PositionalEncoding {
 public:
  explicit Learned(at::Tensor table) : table_(std::move(table)) {}

  at::Tensor AddToEmbeddings(at::Tensor x, const at::Tensor& positions) const override {
    return x.add_(at::embedding(table_, positions));
  }

  int64_t position_limit() const override { return table_.size(0); }

 private:
  const at::Tensor table_;  // [P, D]
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_learned(const EncodingSpec& spec) {
  if (absl::Status status = CheckOptions(spec, "learned", {}); !status.ok()) return status;
  std::optional<at::Tensor> table = spec.weight("positional.table");
  if (!table.has_value() || table->dim() != 2 || table->size(1) != spec.hidden_size) {
    return MakeError(absl::StatusCode::kInvalidArgument, "MISSING_POSITION_TABLE",
                     absl::StrCat("positional encoding \"learned\" needs a table of width ",
                                  spec.hidden_size, " (role positional.table)"));
  }
  return std::make_unique<Learned>(*std::move(table));
}

}  // namespace heed
