// The tiles of one GetAttention answer, each made when it is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "heed/v1/attention.pb.h"
#include "model/api/attention.h"
#include "server/attention_plan.h"

namespace heed {

// One caller at a time.
class AttentionTiles {
 public:
  // `source`: what plan.capture gave.
  AttentionTiles(AttentionPlan plan, std::shared_ptr<const AttentionSource> source);

  // The next tile, by layer, head and row in the plan's order; nothing after the last. Errors: the
  // source's, and INTERNAL NON_FINITE.
  absl::StatusOr<std::optional<v1::AttentionTile>> Next();

 private:
  // Rows first … first+count-1 of the plan, and how many columns each has.
  absl::StatusOr<AttentionMap> ReadRows(int64_t layer, int64_t head, size_t first,
                                        size_t count) const;
  // How many of `count` rows from `first` on one read may take.
  size_t ReadLength(size_t first, size_t count) const;
  absl::Status AppendRows(const AttentionMap& map, v1::AttentionTile& tile);
  void AppendTop(const float* row, v1::AttentionTile& tile);
  void Advance(size_t rows);

  const AttentionPlan plan_;
  const std::shared_ptr<const AttentionSource> source_;
  const bool every_column_;
  size_t layer_ = 0;
  size_t head_ = 0;
  size_t row_ = 0;
  // Kept between rows for their memory.
  std::vector<float> values_;
  std::vector<uint32_t> order_;
};

}  // namespace heed
