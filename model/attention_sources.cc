#include "model/attention_sources.h"

#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "model/attention/forms.h"
#include "model/attention/rollout.h"
#include "model/catch_exceptions.h"
#include "model/threads.h"

namespace heed {
namespace {

absl::Status NotCaptured(absl::string_view what) {
  return MakeError(absl::StatusCode::kInternal, "NOT_CAPTURED",
                   absl::StrCat("the capture does not hold ", what));
}

// Checks what is read, and leaves the reading to the two kinds.
class BaseSource : public AttentionSource {
 public:
  explicit BaseSource(SourceShape shape) : shape_(std::move(shape)) {}

  absl::StatusOr<AttentionMap> Read(int64_t layer, const std::vector<int64_t>& heads,
                                    int64_t row_begin, int64_t row_end) const override {
    return Guarded([&]() -> absl::StatusOr<AttentionMap> {
      if (absl::Status status = Check(layer, heads, row_begin, row_end); !status.ok()) {
        return status;
      }
      return ToMap(Rows(Place(layer), heads, row_begin, row_end));
    });
  }

  absl::StatusOr<AttentionMap> ReadScores(int64_t layer, const std::vector<int64_t>& heads,
                                          int64_t row_begin, int64_t row_end) const override {
    return Guarded([&]() -> absl::StatusOr<AttentionMap> {
      if (absl::Status status = Check(layer, heads, row_begin, row_end); !status.ok()) {
        return status;
      }
      if (request().form != AttentionForm::kWeights || request().eager) {
        return NotCaptured("scores");
      }
      return ToMap(Scores(Place(layer), heads, row_begin, row_end));
    });
  }

  absl::StatusOr<AttentionMap> Rollout(const std::vector<int64_t>& rows) const override {
    return Through(rows, heed::Rollout);
  }

  absl::StatusOr<AttentionMap> Flow(const std::vector<int64_t>& rows) const override {
    return Through(rows, heed::Flow);
  }

 protected:
  const CaptureRequest& request() const { return shape_.request; }
  // Empty: all.
  const std::vector<int64_t>& Wanted(const std::vector<int64_t>& heads) const {
    return heads.empty() ? request().heads : heads;
  }

  // [heads, rows, keys] of the layer at `place` in the request.
  virtual at::Tensor Rows(size_t place, const std::vector<int64_t>& heads, int64_t row_begin,
                          int64_t row_end) const = 0;
  virtual at::Tensor Scores(size_t place, const std::vector<int64_t>& heads, int64_t row_begin,
                            int64_t row_end) const = 0;

 private:
  template <typename Body>
  static absl::StatusOr<AttentionMap> Guarded(const Body& body) {
    return CatchExceptions([&]() -> absl::StatusOr<AttentionMap> {
      const c10::InferenceMode guard;
      const OneThread one_thread;
      return body();
    });
  }

  size_t Place(int64_t layer) const {
    const auto& layers = request().layers;
    return std::find(layers.begin(), layers.end(), layer) - layers.begin();
  }

  absl::Status Check(int64_t layer, const std::vector<int64_t>& heads, int64_t row_begin,
                     int64_t row_end) const {
    if (Place(layer) == request().layers.size()) return NotCaptured(absl::StrCat("layer ", layer));
    if (row_begin < request().row_begin || row_begin >= row_end || row_end > request().row_end) {
      return NotCaptured(absl::StrCat("rows ", row_begin, " to ", row_end));
    }
    if (!heads.empty() && request().form == AttentionForm::kMeanHeads) {
      return NotCaptured("single heads");
    }
    for (const int64_t head : heads) {
      if (std::find(request().heads.begin(), request().heads.end(), head) ==
          request().heads.end()) {
        return NotCaptured(absl::StrCat("head ", head));
      }
    }
    return absl::OkStatus();
  }

  template <typename Function>
  absl::StatusOr<AttentionMap> Through(const std::vector<int64_t>& rows,
                                       const Function& function) const {
    if (request().form != AttentionForm::kMeanHeads || request().row_begin != 0 ||
        request().row_end != shape_.length) {
      return NotCaptured("whole layers as the mean over heads");
    }
    for (const int64_t row : rows) {
      if (row < 0 || row >= shape_.length) return NotCaptured(absl::StrCat("row ", row));
    }
    return Guarded([&]() -> absl::StatusOr<AttentionMap> {
      // In the model's order, whatever the request's.
      std::vector<int64_t> layers = request().layers;
      std::sort(layers.begin(), layers.end());
      const MeanRows read = [&](size_t layer, int64_t begin, int64_t end) {
        return Rows(Place(layers[layer]), {}, begin, end)[0];
      };
      return ToMap(function(read, layers.size(), shape_.length, rows).to(at::kFloat).unsqueeze(0));
    });
  }

  const SourceShape shape_;
};

class EagerSource : public BaseSource {
 public:
  EagerSource(SourceShape shape, std::vector<at::Tensor> maps)
      : BaseSource(std::move(shape)), maps_(std::move(maps)) {}

 protected:
  at::Tensor Rows(size_t place, const std::vector<int64_t>& heads, int64_t row_begin,
                  int64_t row_end) const override {
    const at::Tensor rows =
        maps_[place].narrow(1, row_begin - request().row_begin, row_end - row_begin);
    if (heads.empty()) return rows;
    std::vector<int64_t> places;
    for (const int64_t head : heads) {
      const auto& all = request().heads;
      places.push_back(std::find(all.begin(), all.end(), head) - all.begin());
    }
    return rows.index_select(0, at::tensor(places, at::kLong));
  }

  // Not reached: eager captures have none.
  at::Tensor Scores(size_t, const std::vector<int64_t>&, int64_t, int64_t) const override {
    return {};
  }

 private:
  const std::vector<at::Tensor> maps_;
};

class LazySource : public BaseSource {
 public:
  LazySource(SourceShape shape, std::vector<LazyLayer> layers)
      : BaseSource(std::move(shape)), layers_(std::move(layers)) {}

 protected:
  at::Tensor Rows(size_t place, const std::vector<int64_t>& heads, int64_t row_begin,
                  int64_t row_end) const override {
    return layers_[place].Read(request().form, Wanted(heads), row_begin, row_end, false);
  }
  at::Tensor Scores(size_t place, const std::vector<int64_t>& heads, int64_t row_begin,
                    int64_t row_end) const override {
    return layers_[place].Read(request().form, Wanted(heads), row_begin, row_end, true);
  }

 private:
  const std::vector<LazyLayer> layers_;
};

}  // namespace

std::shared_ptr<const AttentionSource> MakeEagerSource(SourceShape shape,
                                                       std::vector<at::Tensor> maps) {
  return std::make_shared<EagerSource>(std::move(shape), std::move(maps));
}

std::shared_ptr<const AttentionSource> MakeLazySource(SourceShape shape,
                                                      std::vector<LazyLayer> layers) {
  return std::make_shared<LazySource>(std::move(shape), std::move(layers));
}

}  // namespace heed
