#include "model/attention/attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>

#include <algorithm>

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

// Texts of a group that are computed at once, with the values they attend to.
struct Chunk {
  TextTensors texts;
  int64_t first_text = 0;          // index in the batch
  at::Tensor value, global_value;  // [B, H, n, Dh]
};

// Computes one tile and writes its rows of the context. out: [B, n, H, Dv].
void AttendTile(const AttentionSettings& settings, const Chunk& chunk, const PatternTile& part,
                AttentionRecorder* recorder, at::Tensor& out) {
  const TileKeys keys(part);
  const Tile tile = MakeTile(settings, chunk.texts, part, keys);
  const at::Tensor weights = TileWeights(tile, TileScores(settings, chunk.texts, part, tile));
  const bool global = part.global && chunk.texts.global_query.defined();
  at::Tensor context = at::matmul(weights, keys.Of(global ? chunk.global_value : chunk.value, 2));
  for (const auto& encoding : settings.encodings) {
    if (!chunk.texts.has_positions) break;
    if (const auto term = encoding->ValueTerm(tile, weights)) context.add_(*term);
  }
  out.narrow(1, part.row_begin, part.row_count()).copy_(context.transpose(1, 2));
  if (recorder != nullptr) recorder->Record(settings.layer, chunk.first_text, part, weights);
}

void AttendGroup(const QueryKeyValue& local, const QueryKeyValue* global,
                 const AttentionSettings& settings, const TextGroup& group,
                 AttentionRecorder* recorder, at::Tensor& context) {
  const int64_t head_count = local.query.size(1);
  TextTensors shared;
  shared.shape = {group.length, group.context_length, group.globals};
  if (!group.has_globals) shared.shape.globals = settings.pattern->DefaultGlobals(group.length);
  shared.positions = group.positions;
  shared.indices = at::arange(group.length, at::TensorOptions(at::kLong));
  shared.key_mask = group.key_mask;
  shared.rule_length = group.rule_length;
  shared.contiguous = group.contiguous;
  shared.has_positions = group.has_positions;
  // Short texts share a call: the dispatch costs more than they do.
  const int64_t text_scores = head_count * group.length * group.length;
  const int64_t step = std::clamp<int64_t>(kMaxScores / text_scores, 1, group.text_count);
  for (int64_t first = 0; first < group.text_count; first += step) {
    const int64_t count = std::min(step, group.text_count - first);
    Chunk chunk{shared, group.first_text + first, {}, {}};
    chunk.texts.query = Rows(local.query, group, first, count);
    chunk.texts.key = ForHeads(Rows(local.key, group, first, count), head_count);
    chunk.value = ForHeads(Rows(local.value, group, first, count), head_count);
    if (global != nullptr) {
      chunk.texts.global_query = Rows(global->query, group, first, count);
      chunk.texts.global_key = Rows(global->key, group, first, count);
      chunk.global_value = Rows(global->value, group, first, count);
    }
    chunk.texts.segments = group.segments.narrow(0, first, count);
    if (recorder != nullptr) recorder->Record(settings, chunk.first_text, chunk.texts);
    at::Tensor out =
        context.narrow(0, group.first_token + first * group.length, count * group.length)
            .view({count, group.length, head_count, context.size(2)});
    settings.pattern->ForEachTile(
        chunk.texts.shape, kMaxScores / head_count,
        [&](const PatternTile& part) { AttendTile(settings, chunk, part, recorder, out); });
  }
}

// Lets an encoding transform the projections of the texts that have positions.
void Transform(const PositionalEncoding& encoding, int64_t layer, const TokenPositions& tokens,
               QueryKeyValue& projections) {
  if (!tokens.disabled.defined()) {
    return encoding.TransformQueryKey(layer, tokens, projections);
  }
  // It may work in place, on all tokens: the others get their own back.
  const QueryKeyValue before{projections.query.clone(), projections.key.clone(),
                             projections.value.clone()};
  encoding.TransformQueryKey(layer, tokens, projections);
  const at::Tensor disabled = tokens.disabled.view({-1, 1, 1});
  projections.query = at::where(disabled, before.query, projections.query);
  projections.key = at::where(disabled, before.key, projections.key);
  projections.value = at::where(disabled, before.value, projections.value);
}

}  // namespace

at::Tensor Attend(QueryKeyValue projections, const QueryKeyValue* global,
                  const AttentionSettings& settings, const AttentionLayout& layout,
                  AttentionRecorder* recorder) {
  for (const auto& encoding : settings.encodings) {
    Transform(*encoding, settings.layer, layout.tokens, projections);
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
