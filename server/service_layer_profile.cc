// ProbeService.GetLayerProfile: each input in random orders, its scores before the softmax.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heed/v1/probe.pb.h"
#include "server/attention_plan.h"
#include "server/byte_budget.h"
#include "server/layer_profile.h"
#include "server/probe_task.h"
#include "server/probe_texts.h"
#include "server/service_handlers.h"

namespace heed {
namespace {

constexpr uint32_t kMaxProfileOrders = 256;
constexpr uint32_t kDefaultProfileOrders = 16;
constexpr int kMaxProfileInputs = 64;
constexpr double kMaxProfileBytes = 256 * 1048576.0;
// Of the queries and keys that the texts of a wave keep, unless one alone has more.
constexpr size_t kWaveBytes = size_t{64} << 20;

struct ProfileTask : ProbeTask<v1::GetLayerProfileRequest, v1::GetLayerProfileResponse> {
  std::optional<ProbeRandom> random;
  uint32_t order_count = 0;
  int input_index = 0;
  std::vector<LayerProfile> profiles;  // of the current input, one a layer
  std::vector<std::vector<int64_t>> orders;
  std::vector<std::vector<ScoreVariance>> sums;  // [layers][heads]
  size_t wave_tokens = 0;                        // of the current input
  ByteBudget::Reservation memory;                // what the current input takes

  // Gives back what the task holds, then answers; the caller may ask again at once.
  void End(const absl::Status& status) {
    profiles.clear();
    memory = {};
    Answer(status);
  }
};

void NextProfile(const std::shared_ptr<ProfileTask>& task);

absl::Status TakeScores(ProfileTask& task, size_t i, const ItemResult& item) {
  const auto length = static_cast<int64_t>(task.tokens().size());
  for (size_t layer = 0; layer < task.profiles.size(); ++layer) {
    const auto scores = item.captures[0]->ReadScores(static_cast<int64_t>(layer), {}, 0, length);
    if (!scores.ok()) return scores.status();
    task.profiles[layer].Add(*scores, task.orders[i]);
  }
  return absl::OkStatus();
}

void FinishProfile(ProfileTask& task) {
  for (size_t layer = 0; layer < task.sums.size(); ++layer) {
    v1::LayerProfile& profile = *task.response.add_layers();
    profile.set_layer(static_cast<uint32_t>(layer));
    for (const ScoreVariance& sum : task.sums[layer]) {
      // What chance leaves above 1 would be shared out.
      const double whole = std::max({sum.total, sum.position + sum.content, 1e-30});
      profile.add_position_share(static_cast<float>(sum.position / whole));
      profile.add_content_share(static_cast<float>(sum.content / whole));
    }
  }
  task.End(absl::OkStatus());
}

absl::Status Reserve(ProfileTask& task, size_t profile_bytes) {
  const ModelInfo& info = task.info();
  const size_t token_bytes =
      2 * sizeof(float) * static_cast<size_t>(info.layer_count * info.hidden_size);
  const size_t length = task.tokens().size();
  task.wave_tokens = std::min(ProbeWaves().max_tokens, kWaveBytes / token_bytes);
  const size_t kept_tokens =
      std::max(length, std::min(task.wave_tokens, task.order_count * length));
  const size_t bytes = profile_bytes + kept_tokens * token_bytes;
  task.memory = {};
  auto memory =
      task.context.attention_memory->Reserve(bytes, "this profile", "shorten the text", "text");
  if (memory.ok()) task.memory = *std::move(memory);
  return memory.status();
}

absl::Status OpenProfile(ProfileTask& task) {
  const absl::Status status = task.Tokenize(task.request.inputs(task.input_index));
  if (!status.ok()) return status;
  const std::vector<int64_t> places = TextTokens(task.tokens());
  if (places.size() < 3) {
    return InvalidProbe("TOO_FEW_TOKENS",
                        absl::StrCat("the text has ", places.size(),
                                     " tokens besides special ones; at least 3 are needed"),
                        "text", {{"tokenCount", absl::StrCat(places.size())}, {"minimum", "3"}});
  }
  const ModelInfo& info = task.info();
  const double bytes = LayerProfile::Bytes(info.head_count, static_cast<int64_t>(places.size())) *
                       static_cast<double>(info.layer_count);
  if (bytes > kMaxProfileBytes) {
    const double ratio = std::sqrt(kMaxProfileBytes / bytes);
    const auto limit = static_cast<int64_t>(static_cast<double>(places.size()) * ratio);
    return InvalidProbe(
        "TEXT_TOO_LONG_FOR_PROFILE",
        absl::StrCat("the text has ", places.size(),
                     " tokens besides special ones; a profile of this model takes ", limit),
        "text", {{"tokenCount", absl::StrCat(places.size())}, {"limit", absl::StrCat(limit)}});
  }
  task.profiles.clear();
  const absl::Status reserved = Reserve(task, static_cast<size_t>(bytes));
  if (!reserved.ok()) return reserved;
  task.profiles.assign(static_cast<size_t>(info.layer_count),
                       LayerProfile(info.head_count, task.tokens()));
  task.orders.clear();
  return absl::OkStatus();
}

void NextProfile(const std::shared_ptr<ProfileTask>& task) {
  if (task->input_index == task->request.inputs_size()) return FinishProfile(*task);
  const std::string field = absl::StrCat("inputs[", task->input_index, "]");
  const absl::Status opened = InField(OpenProfile(*task), field);
  if (!opened.ok()) return task->End(opened);
  ProbeWaves waves = task->Waves(field);
  waves.count = task->order_count;
  waves.max_tokens = task->wave_tokens;
  waves.wants.captures.emplace_back();
  waves.make = [task](size_t) {
    task->orders.push_back(RandomOrder(task->tokens(), *task->random));
    return Reordered(task->input.item.input, task->orders.back());
  };
  waves.take = [task](size_t i, ItemResult& item) {
    const absl::Status status = TakeScores(*task, i, item);
    item.captures.clear();  // its memory
    return status;
  };
  waves.done = [task](const absl::Status& status) {
    if (!status.ok()) return task->End(status);
    for (size_t layer = 0; layer < task->profiles.size(); ++layer) {
      const std::vector<ScoreVariance> heads = task->profiles[layer].Variances();
      for (size_t head = 0; head < heads.size(); ++head) {
        task->sums[layer][head].position += heads[head].position;
        task->sums[layer][head].content += heads[head].content;
        task->sums[layer][head].total += heads[head].total;
      }
    }
    ++task->input_index;
    NextProfile(task);
  };
  RunWaves(std::move(waves));
}

void GetLayerProfile(const std::shared_ptr<ProfileTask>& task) {
  absl::Status status = task->Open();
  if (status.ok()) status = RequireAttention(task->info());
  const v1::GetLayerProfileRequest& request = task->request;
  task->order_count =
      request.permutation_count() == 0 ? kDefaultProfileOrders : request.permutation_count();
  if (status.ok()) {
    status = CheckCount("permutation_count", task->order_count, 2, kMaxProfileOrders);
  }
  if (status.ok() && request.inputs_size() > kMaxProfileInputs) {
    status = InvalidProbe("TOO_MANY_INPUTS",
                          absl::StrCat("the request has ", request.inputs_size(),
                                       " inputs, the limit is ", kMaxProfileInputs),
                          "inputs",
                          {{"count", absl::StrCat(request.inputs_size())},
                           {"limit", absl::StrCat(kMaxProfileInputs)}});
  }
  if (status.ok()) status = CheckInputs(request.inputs(), task->context.limits, task->info());
  if (!status.ok()) return task->call->Fail(status);
  task->random.emplace(request.seed());
  task->sums.assign(static_cast<size_t>(task->info().layer_count),
                    std::vector<ScoreVariance>(static_cast<size_t>(task->info().head_count)));
  task->context.pool->Submit([task] { NextProfile(task); });
}

}  // namespace

void AddLayerProfileHandlers(const ServiceContext& context, HandlerMap& handlers) {
  if (context.attention_memory == nullptr) return;
  handlers["/heed.v1.ProbeService/GetLayerProfile"] = MakeHandler(context, GetLayerProfile);
}

}  // namespace heed
