#include "model/attention/lazy_layer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "model/attention/forms.h"

namespace heed {
namespace {

// Scores in memory at a time: 4 MiB in float32.
constexpr int64_t kMaxScores = int64_t{1} << 20;

}  // namespace

LazyLayer::LazyLayer(const AttentionSettings& settings, const TextTensors& group, int64_t text,
                     const std::vector<int64_t>& heads, int64_t row_begin, int64_t row_end)
    : settings_(settings), text_(group), kept_heads_(heads) {
  const int64_t head_count = group.query.size(1);
  const bool whole = ReadsContent(settings);
  if (whole) {
    kept_heads_.resize(head_count);
    std::iota(kept_heads_.begin(), kept_heads_.end(), 0);
  }
  const at::Tensor index = at::tensor(kept_heads_, at::kLong);
  // Indexing copies, which the views into the batch need: they end with it.
  const auto keep = [&](const at::Tensor& x) {
    return x.defined() ? x[text].index_select(0, index).unsqueeze(0) : x;
  };
  const auto rows = [&](const at::Tensor& x) {
    return x.defined() ? x.narrow(2, row_begin, row_end - row_begin) : x;
  };
  text_.query_begin = row_begin;
  text_.query = keep(rows(group.query));
  text_.key = keep(group.key);
  text_.global_query = keep(rows(group.global_query));
  text_.global_key = keep(group.global_key);
  if (!whole) text_.heads = index;
  text_.positions = group.positions.clone();
  text_.indices = group.indices.clone();
  text_.segments = group.segments.narrow(0, text, 1).clone();
}

at::Tensor LazyLayer::Read(AttentionForm form, const std::vector<int64_t>& heads, int64_t row_begin,
                           int64_t row_end, bool scores) const {
  std::vector<int64_t> places;
  for (const int64_t head : heads) {
    const auto place = std::find(kept_heads_.begin(), kept_heads_.end(), head);
    places.push_back(place - kept_heads_.begin());
  }
  // Some of the heads alone, where the encodings let them stand alone.
  TextTensors text = text_;
  bool all = places.size() == kept_heads_.size();
  for (size_t i = 0; all && i < places.size(); ++i) all = places[i] == static_cast<int64_t>(i);
  const at::Tensor chosen = at::tensor(places, at::kLong);
  if (!all && text_.heads.defined()) {
    const auto choose = [&](const at::Tensor& x) {
      return x.defined() ? x.index_select(1, chosen) : x;
    };
    text.query = choose(text.query.narrow(2, row_begin - text.query_begin, row_end - row_begin));
    if (text.global_query.defined()) {
      text.global_query =
          choose(text.global_query.narrow(2, row_begin - text.query_begin, row_end - row_begin));
    }
    text.query_begin = row_begin;
    text.key = choose(text.key);
    text.global_key = choose(text.global_key);
    text.heads = text.heads.index_select(0, chosen);
    all = true;
  }
  const auto wanted = static_cast<int64_t>(heads.size());
  const std::vector<int64_t> map_sizes = {FormHeads(form, wanted), row_end - row_begin,
                                          FormWidth(form, text.shape.length)};
  const float nothing = scores ? -std::numeric_limits<float>::infinity() : 0.0F;
  at::Tensor map;
  const int64_t computed_heads = text.query.size(1);
  settings_.pattern->ForEachTile(
      text.shape, kMaxScores / computed_heads, [&](const PatternTile& given) {
        const int64_t begin = std::max(row_begin, given.row_begin);
        const int64_t end = std::min(row_end, given.row_end);
        if (begin >= end) return;
        const PatternTile part = NarrowRows(given, begin, end);
        const Tile tile = MakeTile(settings_, text, part, TileKeys(part));
        at::Tensor values = TileScores(settings_, text, part, tile);
        if (!scores) values = TileWeights(tile, values);
        values = values[0];
        if (!all) values = values.index_select(0, chosen);
        if (form == AttentionForm::kWeights && part.keys.empty() && values.sizes() == map_sizes) {
          map = values;  // the tile is all that was asked for
          return;
        }
        if (!map.defined()) map = at::full(map_sizes, nothing, at::TensorOptions(at::kFloat));
        PutRows(form, part, values, row_begin, map);
      });
  return map;
}

}  // namespace heed
