#include "model/attention/tile_scores.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>

namespace heed {

TileKeys::TileKeys(const PatternTile& part) : begin(part.key_begin), count(part.key_count()) {
  if (!part.keys.empty()) index = at::tensor(part.keys, at::kLong);
}

at::Tensor TileKeys::Of(const at::Tensor& x, int64_t dim) const {
  return index.defined() ? x.index_select(dim, index) : x.narrow(dim, begin, count);
}

Tile MakeTile(const AttentionSettings& settings, const TextTensors& text, const PatternTile& part,
              const TileKeys& keys) {
  Tile tile;
  tile.layer = settings.layer;
  tile.scale = settings.scale;
  tile.length = text.rule_length;
  tile.query_positions = text.positions.narrow(0, part.row_begin, part.row_count());
  tile.key_positions = keys.Of(text.positions, 0);
  tile.contiguous = text.contiguous && !keys.index.defined();
  tile.query_indices = text.indices.narrow(0, part.row_begin, part.row_count());
  tile.key_indices = keys.Of(text.indices, 0);
  tile.query_segments = text.segments.narrow(1, part.row_begin, part.row_count());
  tile.key_segments = keys.Of(text.segments, 1);
  tile.visible = part.visible;
  if (text.key_mask.defined()) {
    const at::Tensor seen = keys.Of(text.key_mask, 0).unsqueeze(0);
    tile.visible = tile.visible.defined() ? tile.visible.logical_and(seen)
                                          : seen.expand({part.row_count(), keys.count});
  }
  const bool global = part.global && text.global_query.defined();
  tile.query = (global ? text.global_query : text.query)
                   .narrow(2, part.row_begin - text.query_begin, part.row_count());
  tile.key = keys.Of(global ? text.global_key : text.key, 2);
  return tile;
}

at::Tensor TileScores(const AttentionSettings& settings, const TextTensors& text,
                      const PatternTile& part, const Tile& tile) {
  at::Tensor scores = at::matmul(tile.query, tile.key.transpose(-2, -1)).mul_(settings.scale);
  for (const auto& encoding : settings.encodings) {
    if (!text.has_positions) break;
    if (const auto bias = encoding->ScoreBias(tile)) {
      // One row for all heads, or one a head, of which not all may be here.
      const bool some = text.heads.defined() && bias->size(0) > 1;
      scores.add_(some ? bias->index_select(0, text.heads) : *bias);
    }
    if (const auto content = encoding->ContentScore(tile)) scores.add_(*content);
  }
  if (part.bias.defined()) scores.add_(part.bias);
  if (tile.visible.defined()) {
    scores.masked_fill_(tile.visible.logical_not(), -std::numeric_limits<float>::infinity());
  }
  return scores;
}

at::Tensor TileWeights(const Tile& tile, const at::Tensor& scores) {
  at::Tensor weights = scores.softmax(-1);
  if (!tile.visible.defined()) return weights;
  const at::Tensor sees_nothing = tile.visible.any(-1, true).logical_not_();  // [m, 1]
  if (sees_nothing.any().item<bool>()) weights.masked_fill_(sees_nothing, 0);
  return weights;
}

PatternTile NarrowRows(const PatternTile& part, int64_t begin, int64_t end) {
  PatternTile tile = part;
  tile.row_begin = begin;
  tile.row_end = end;
  const auto rows = [&](const at::Tensor& x) {
    return x.defined() && x.size(0) > 1 ? x.narrow(0, begin - part.row_begin, end - begin) : x;
  };
  tile.visible = rows(part.visible);
  tile.bias = rows(part.bias);
  return tile;
}

bool ReadsContent(const AttentionSettings& settings) {
  return std::any_of(settings.encodings.begin(), settings.encodings.end(),
                     [](const auto& encoding) { return encoding->reads_content(); });
}

}  // namespace heed
