// Tiles of a stream, made one after another as the reader takes them.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "heed/v1/attention.pb.h"
#include "model/api/attention.h"
#include "server/attention_plan.h"

namespace heed {

class AttentionTiles {
 public:
  AttentionTiles(AttentionPlan plan, std::shared_ptr<const AttentionSource> source)
      : plan_(std::move(plan)), source_(std::move(source)) {}

  const AttentionPlan& plan() const { return plan_; }

  // The next tile; nullopt after the last. Errors are the source's, or INTERNAL NON_FINITE.
  absl::StatusOr<std::optional<v1::AttentionTile>> Next();

 private:
  // Weights of rows first … last-1 of the plan's list in the current layer and head: [rows, n], or
  // [rows, 1].
  absl::StatusOr<std::vector<float>> Rows(int64_t first, int64_t last);
  absl::StatusOr<AttentionMap> Read(int64_t first, int64_t last);
  void Keep(const float* row, v1::AttentionTile& tile, std::vector<float>& values) const;

  const AttentionPlan plan_;
  const std::shared_ptr<const AttentionSource> source_;
  int64_t layer_ = 0;  // places in the plan's lists
  int64_t head_ = 0;
  int64_t row_ = 0;
  // All heads of the current layer, where that is little: reading heads one by one can cost as much
  // each as all together.
  std::optional<AttentionMap> whole_;
  int64_t whole_layer_ = -1;
};

}  // namespace heed
