#include "model/attention/attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace heed {
namespace {

// Scores in memory at a time: 16 MiB in float32.
constexpr int64_t kMaxScores = int64_t{1} << 22;

// The rows of texts first … first+count-1 of a group: [T, H, Dh] to [B, H, n, Dh], contiguous.
at::Tensor Rows(const at::Tensor& x, const TextGroup& group, int64_t first, int64_t count) {
  return x.narrow(0, group.first_token + first * group.length, count * group.length)
      .view({count, group.length, x.size(1), x.size(2)})
      .transpose(1, 2)
      .contiguous();
}

// Repeats each key/value head for the query heads it serves. x: [B, Hkv, n, Dh].
at::Tensor ForHeads(const at::Tensor& x, int64_t head_count) {
  return x.size(1) == head_count ? x : x.repeat_interleave(head_count / x.size(1), 1);
}

// Texts of a group that are computed at once, as the kernel needs them.
struct Chunk {
  const TextGroup& group;
  int64_t first = 0;
  int64_t count = 0;
  at::Tensor query, key, value;                       // [B, H, n, Dh]
  at::Tensor global_query, global_key, global_value;  // undefined: as the others
  at::Tensor indices;                                 // [n] 0 … n-1
};

struct TileKeys {
  at::Tensor index;  // [n] int64; undefined: one run
  int64_t begin = 0;
  int64_t count = 0;

  // x's entries of these keys along `dim`.
  at::Tensor Of(const at::Tensor& x, int64_t dim) const {
    return index.defined() ? x.index_select(dim, index) : x.narrow(dim, begin, count);
  }
};

Tile MakeTile(const AttentionSettings& settings, const Chunk& chunk, const PatternTile& part,
              const TileKeys& keys) {
  const TextGroup& group = chunk.group;
  Tile tile;
  tile.layer = settings.layer;
  tile.scale = settings.scale;
  tile.length = group.rule_length;
  tile.query_positions = group.positions.narrow(0, part.row_begin, part.row_count());
  tile.key_positions = keys.Of(group.positions, 0);
  tile.contiguous = group.contiguous && !keys.index.defined();
  tile.query_indices = chunk.indices.narrow(0, part.row_begin, part.row_count());
  tile.key_indices = keys.Of(chunk.indices, 0);
  const at::Tensor segments = group.segments.narrow(0, chunk.first, chunk.count);
  tile.query_segments = segments.narrow(1, part.row_begin, part.row_count());
  tile.key_segments = keys.Of(segments, 1);
  tile.visible = part.visible;
  if (group.key_mask.defined()) {
    const at::Tensor seen = keys.Of(group.key_mask, 0).unsqueeze(0);
    tile.visible = tile.visible.defined() ? tile.visible.logical_and(seen)
                                          : seen.expand({part.row_count(), keys.count});
  }
  const bool global = part.global && chunk.global_query.defined();
  tile.query =
      (global ? chunk.global_query : chunk.query).narrow(2, part.row_begin, part.row_count());
  tile.key = keys.Of(global ? chunk.global_key : chunk.key, 2);
  return tile;
}

// Attention weights of a tile, [B, H, m, n].
at::Tensor Weights(const AttentionSettings& settings, const PatternTile& part, const Tile& tile) {
  at::Tensor scores = at::matmul(tile.query, tile.key.transpose(-2, -1)).mul_(settings.scale);
  for (const auto& encoding : settings.encodings) {
    if (const auto bias = encoding->ScoreBias(tile)) scores.add_(*bias);
    if (const auto content = encoding->ContentScore(tile)) scores.add_(*content);
  }
  if (part.bias.defined()) scores.add_(part.bias);
  if (!tile.visible.defined()) return scores.softmax(-1);
  scores.masked_fill_(tile.visible.logical_not(), -std::numeric_limits<float>::infinity());
  at::Tensor weights = scores.softmax(-1);
  const at::Tensor sees_nothing = tile.visible.any(-1, true).logical_not_();  // [m, 1]
  if (sees_nothing.any().item<bool>()) weights.masked_fill_(sees_nothing, 0);
  return weights;
}

// Computes one tile and writes its rows of the context. out: [B, n, H, Dv].
void AttendTile(const AttentionSettings& settings, const Chunk& chunk, const PatternTile& part,
                AttentionRecorder* recorder, at::Tensor& out) {
  TileKeys keys;
  if (!part.keys.empty()) keys.index = at::tensor(part.keys, at::kLong);
  keys.begin = part.key_begin;
  keys.count = part.key_count();
  const Tile tile = MakeTile(settings, chunk, part, keys);
  const at::Tensor weights = Weights(settings, part, tile);
  const bool global = part.global && chunk.global_query.defined();
  at::Tensor context = at::matmul(weights, keys.Of(global ? chunk.global_value : chunk.value, 2));
  for (const auto& encoding : settings.encodings) {
    if (const auto term = encoding->ValueTerm(tile, weights)) context.add_(*term);
  }
  out.narrow(1, part.row_begin, part.row_count()).copy_(context.transpose(1, 2));
  if (recorder != nullptr)
    recorder->Record(settings.layer, chunk.group.first_text + chunk.first, part, weights);
}

void AttendGroup(const QueryKeyValue& local, const QueryKeyValue* global,
                 const AttentionSettings& settings, const TextGroup& group,
                 AttentionRecorder* recorder, at::Tensor& context) {
  const int64_t head_count = local.query.size(1);
  TextShape text{group.length, group.context_length, group.globals};
  if (!group.has_globals) text.globals = settings.pattern->DefaultGlobals(group.length);
  // Short texts share a call: the dispatch costs more than they do.
  const int64_t text_scores = head_count * group.length * group.length;
  const int64_t step = std::clamp<int64_t>(kMaxScores / text_scores, 1, group.text_count);
  for (int64_t first = 0; first < group.text_count; first += step) {
    Chunk chunk{group, first, std::min(step, group.text_count - first), {}, {}, {}, {}, {}, {}, {}};
    chunk.query = Rows(local.query, group, first, chunk.count);
    chunk.key = ForHeads(Rows(local.key, group, first, chunk.count), head_count);
    chunk.value = ForHeads(Rows(local.value, group, first, chunk.count), head_count);
    if (global != nullptr) {
      chunk.global_query = Rows(global->query, group, first, chunk.count);
      chunk.global_key = Rows(global->key, group, first, chunk.count);
      chunk.global_value = Rows(global->value, group, first, chunk.count);
    }
    chunk.indices = at::arange(group.length, at::TensorOptions(at::kLong));
    at::Tensor out =
        context.narrow(0, group.first_token + first * group.length, chunk.count * group.length)
            .view({chunk.count, group.length, head_count, context.size(2)});
    settings.pattern->ForEachTile(text, kMaxScores / head_count, [&](const PatternTile& part) {
      AttendTile(settings, chunk, part, recorder, out);
    });
  }
}

}  // namespace

at::Tensor Attend(QueryKeyValue projections, const QueryKeyValue* global,
                  const AttentionSettings& settings, const AttentionLayout& layout,
                  AttentionRecorder* recorder) {
  for (const auto& encoding : settings.encodings) {
    encoding->TransformQueryKey(settings.layer, layout.tokens, projections);
  }
  if (recorder != nullptr && !recorder->Wants(settings.layer)) recorder = nullptr;
  at::Tensor context =
      at::empty({projections.query.size(0), projections.query.size(1), projections.value.size(2)},
                projections.query.options());
  for (const TextGroup& group : layout.groups) {
    AttendGroup(projections, global, settings, group, recorder, context);
  }
  return context;
}

}  // namespace heed
