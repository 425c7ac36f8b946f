// Disentangled attention: content and relative position have vectors of their own, and a score is
// the sum of content to content, content to position and position to content:
// (q_i · k_j + q_i · K^r[δ(i,j)] + k_j · Q^r[δ(j,i)]) times the scale, where K^r and Q^r are the
// layer's projections of one table of relative positions, shared by all layers.
// Source: He et al., "DeBERTa", 2021, arXiv:2006.03654, equations 2 to 4; logarithmic buckets:
// "DeBERTaV3", 2021, arXiv:2111.09543, as its authors' code has them. The code reads the third term
// at the row of i - j like the second, since the table of Q^r is looked up from the key: this does
// too.
//
// Directed by definition. The rows are those of i - j, clamped to -k … k-1. Options:
//   max_distance   k, without buckets; with buckets, the distance that the last one stands for.
//                  The model's longest input by default.
//   buckets        0: none; else k, and distances beyond half of it are taken logarithmically.
//   terms          "both", "c2p" (content to position) or "p2c".
//   norm_eps       1e-7, of the norm of the table where there is one.
// Weights: positional.relative_table [2k, D], optionally positional.relative_norm.weight and .bias
// [D]; for each layer N layers.N.positional.key.weight [H Dh, D] with optional .bias, and the same
// for query. Or the projected tables themselves: layers.N.positional.key_table and .query_table
// [2k, H Dh]. Similarity: none, since every term has content.

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include "absl/strings/str_cat.h"
#include "model/positional/buckets.h"
#include "model/positional/distance.h"
#include "model/positional/options.h"
#include "model/positional/row_scores.h"

namespace heed {
namespace {

class Disentangled : public PositionalEncoding {
 public:
  Disentangled(LayerTensors keys, LayerTensors queries, int64_t max_distance, int64_t buckets)
      : keys_(std::move(keys)),
        queries_(std::move(queries)),
        max_distance_(max_distance),
        buckets_(buckets) {}

  bool reads_content() const override { return true; }

  std::optional<at::Tensor> ContentScore(const Tile& tile) const override {
    const at::Tensor keys = TensorOf(keys_, tile.layer);
    const at::Tensor queries = TensorOf(queries_, tile.layer);
    if (!keys.defined() && !queries.defined()) return std::nullopt;
    const at::Tensor index = Rows(tile);
    at::Tensor score;
    if (keys.defined()) score = RowScores(tile.query, keys, index);
    if (queries.defined()) {
      const at::Tensor of_keys = RowScores(tile.key, queries, index.t()).transpose(2, 3);
      score = score.defined() ? score.add_(of_keys) : of_keys;
    }
    return score.mul_(tile.scale);
  }

 private:
  at::Tensor Rows(const Tile& tile) const {
    const int64_t span = buckets_ > 0 ? buckets_ : max_distance_;
    at::Tensor distance = -Distances(tile);
    if (buckets_ > 0) distance = LogBuckets(distance, buckets_, max_distance_);
    return distance.clamp(-span, span - 1) + span;
  }

  const LayerTensors keys_;     // [H, 2k, Dh]
  const LayerTensors queries_;  // [H, 2k, Dh]
  const int64_t max_distance_;
  const int64_t buckets_;
};

// [2k, H Dh] as [H, 2k, Dh].
at::Tensor ByHead(const at::Tensor& rows, const EncodingSpec& spec) {
  return rows.view({rows.size(0), spec.head_count, spec.head_size}).transpose(0, 1).contiguous();
}

// The layers' tables of one side ("key" or "query").
LayerTensors ReadSide(EncodingReader& reader, const EncodingSpec& spec, const std::string& side,
                      const at::Tensor& table, int64_t rows) {
  const int64_t width = spec.head_count * spec.head_size;
  LayerTensors tables;
  if (!table.defined()) {
    for (const auto& [layer, given] : reader.LayerWeights(side + "_table", {rows, width})) {
      tables[layer] = ByHead(given, spec);
    }
    return tables;
  }
  const LayerTensors biases = reader.OptionalLayerWeights(side + ".bias", {width});
  for (const auto& [layer, weight] :
       reader.LayerWeights(side + ".weight", {width, spec.hidden_size})) {
    const at::Tensor bias = TensorOf(biases, layer);
    tables[layer] = ByHead(
        at::linear(table, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt),
        spec);
  }
  return tables;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_disentangled(const EncodingSpec& spec) {
  EncodingReader reader("disentangled", spec);
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t max_distance = reader.Int("max_distance", spec.max_positions, 1, kMost);
  const int64_t buckets = reader.Int("buckets", 0, 0, kMost);
  if (max_distance < 1) reader.Bad("max_distance", "must be given for a model without a limit");
  // The logarithm runs from half the buckets to max_distance - 1.
  if (buckets == 1) reader.Bad("buckets", "must be 0 or at least 2");
  if (buckets > 1 && buckets / 2 >= max_distance - 1) {
    reader.Bad("buckets", absl::StrCat("has a half that does not lie below max_distance - 1 (",
                                       max_distance - 1, ")"));
  }
  const std::string terms = reader.Choice("terms", {"both", "c2p", "p2c"});
  const double eps = reader.Number("norm_eps", 1e-7, 0, 1);
  const int64_t rows = 2 * (buckets > 0 ? buckets : max_distance);

  at::Tensor table = reader.OptionalWeight("positional.relative_table", {rows, spec.hidden_size});
  const at::Tensor scale =
      reader.OptionalWeight("positional.relative_norm.weight", {spec.hidden_size});
  const at::Tensor shift =
      reader.OptionalWeight("positional.relative_norm.bias", {spec.hidden_size});
  if (scale.defined() != shift.defined()) {
    reader.BadTensor("positional.relative_norm.weight",
                     "and positional.relative_norm.bias: only one of them is there");
  } else if (table.defined() && scale.defined()) {
    table = at::layer_norm(table, {spec.hidden_size}, scale, shift, eps);
  }
  LayerTensors keys;
  LayerTensors queries;
  if (terms != "p2c") keys = ReadSide(reader, spec, "key", table, rows);
  if (terms != "c2p") queries = ReadSide(reader, spec, "query", table, rows);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Disentangled>(std::move(keys), std::move(queries), max_distance, buckets);
}

}  // namespace heed
