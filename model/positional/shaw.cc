// Shaw's relative positions: the key of each pair gets a trained vector for its clipped distance,
// and optionally the value too. Score: q_i · (k_j + a^K[clip(j-i, -k, k)]) / sqrt(Dh), equation 4;
// context: sum over j of w_ij (v_j + a^V[clip(j-i, -k, k)]), equation 3.
// Source: Shaw, Uszkoreit and Vaswani, "Self-Attention with Relative Position Representations",
// 2018, arXiv:1803.02155, equations 3 to 5. BERT's "relative_key" is this with the other sign and
// k = max_position_embeddings - 1.
//
// The vectors are shared by all heads of a layer. Directed by definition: before and after the
// query differ. Distances beyond k have the vector of k. Options:
//   sign   "key_minus_query": row j - i + k, as in the paper; "query_minus_key": row i - j + k.
// Weights: layers.N.positional.key_table [2k+1, Dh], or positional.key_table for all layers; in the
// same way, optionally, value_table [2k+1, Dh].
// Similarity: none, since every term has content.

#include "absl/strings/str_cat.h"
#include "model/positional/options.h"
#include "model/positional/row_scores.h"

namespace heed {
namespace {

class Shaw : public PositionalEncoding {
 public:
  Shaw(LayerTensors key_tables, LayerTensors value_tables, bool query_minus_key)
      : key_tables_(std::move(key_tables)),
        value_tables_(std::move(value_tables)),
        query_minus_key_(query_minus_key) {}

  bool reads_content() const override { return true; }

  std::optional<at::Tensor> ContentScore(const Tile& tile) const override {
    const at::Tensor table = TensorOf(key_tables_, tile.layer);
    if (!table.defined()) return std::nullopt;
    return RowScores(tile.query, table, ClippedRows(tile, table.size(0), query_minus_key_))
        .mul_(tile.scale);
  }

  std::optional<at::Tensor> ValueTerm(const Tile& tile, const at::Tensor& weights) const override {
    const at::Tensor table = TensorOf(value_tables_, tile.layer);
    if (!table.defined()) return std::nullopt;
    return RowSums(weights, table, ClippedRows(tile, table.size(0), query_minus_key_));
  }

 private:
  const LayerTensors key_tables_;    // [2k+1, Dh]
  const LayerTensors value_tables_;  // [2k+1, Dh]
  const bool query_minus_key_;
};

void CheckOdd(EncodingReader& reader, absl::string_view name, const LayerTensors& tables) {
  for (const auto& [layer, table] : tables) {
    if (table.size(0) % 2 == 1) continue;
    reader.BadTensor(absl::StrCat("positional.", name),
                     absl::StrCat("of layer ", layer, " has ", table.size(0),
                                  " rows; distances -k to k need an odd number"));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_shaw(const EncodingSpec& spec) {
  EncodingReader reader("shaw", spec);
  const bool query_minus_key =
      reader.Choice("sign", {"key_minus_query", "query_minus_key"}) == "query_minus_key";
  LayerTensors keys = reader.LayerWeights("key_table", {-1, spec.head_size});
  LayerTensors values = reader.OptionalLayerWeights("value_table", {-1, spec.head_size});
  CheckOdd(reader, "key_table", keys);
  CheckOdd(reader, "value_table", values);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Shaw>(std::move(keys), std::move(values), query_minus_key);
}

}  // namespace heed
