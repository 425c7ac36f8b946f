// Relative positions that meet the query and the key: a trained vector a for the clipped distance
// of each pair is multiplied with both. Score: (q_i · k_j + q_i · a_ij + k_j · a_ij) / sqrt(Dh).
// Source: Huang et al., "Improve Transformer Models with Better Relative Position Embeddings",
// 2020, arXiv:2009.13658, method 4 without its product of three terms: the form BERT
// implementations call "relative_key_query".
//
// The vectors are shared by all heads of a layer. Distances beyond the table have its last vector;
// BERT's own table holds every distance of its longest input, so that none is.
// Options:
//   sign   "query_minus_key": row i - j + k, as in BERT; "key_minus_query": row j - i + k.
// Weights: layers.N.positional.key_table [2k+1, Dh], or positional.key_table for all layers.
// Similarity: none, since every term has content.

#include "absl/strings/str_cat.h"
#include "model/positional/options.h"
#include "model/positional/row_scores.h"

namespace heed {
namespace {

class RelativeKeyQuery : public PositionalEncoding {
 public:
  RelativeKeyQuery(LayerTensors tables, bool query_minus_key)
      : tables_(std::move(tables)), query_minus_key_(query_minus_key) {}

  bool reads_content() const override { return true; }

  std::optional<at::Tensor> ContentScore(const Tile& tile) const override {
    const at::Tensor table = TensorOf(tables_, tile.layer);
    if (!table.defined()) return std::nullopt;
    const at::Tensor index = ClippedRows(tile, table.size(0), query_minus_key_);
    at::Tensor score = RowScores(tile.query, table, index);
    score += RowScores(tile.key, table, index.t()).transpose(2, 3);
    return score.mul_(tile.scale);
  }

 private:
  const LayerTensors tables_;  // [2k+1, Dh]
  const bool query_minus_key_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_relative_key_query(
    const EncodingSpec& spec) {
  EncodingReader reader("relative_key_query", spec);
  const bool query_minus_key =
      reader.Choice("sign", {"query_minus_key", "key_minus_query"}) == "query_minus_key";
  LayerTensors tables = reader.LayerWeights("key_table", {-1, spec.head_size});
  for (const auto& [layer, table] : tables) {
    if (table.size(0) % 2 == 1) continue;
    reader.BadTensor("positional.key_table",
                     absl::StrCat("of layer ", layer, " has ", table.size(0),
                                  " rows; distances -k to k need an odd number"));
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<RelativeKeyQuery>(std::move(tables), query_minus_key);
}

}  // namespace heed
