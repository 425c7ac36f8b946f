#include "model/checkpoint/checkpoint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/api/error.h"
#include "model/checkpoint/json.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeightFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

absl::Status BadIndex(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "BAD_WEIGHT_INDEX",
                   absl::StrCat(kIndexFile, ": ", what));
}

// A plain name of a file in the folder itself.
bool IsPlainFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

absl::Status NoWeights(const std::string& folder) {
  std::error_code ignored;
  const bool pickle = fs::exists(fs::path(folder) / "pytorch_model.bin", ignored) ||
                      fs::exists(fs::path(folder) / "pytorch_model.bin.index.json", ignored);
  return MakeError(
      absl::StatusCode::kNotFound, "WEIGHTS_NOT_FOUND",
      absl::StrCat(folder, " has neither ", kWeightFile, " nor ", kIndexFile,
                   pickle ? "; pytorch_model.bin is a pickle file, which can run code and is not "
                            "read: load it once in transformers and save_pretrained() it as "
                            "safetensors"
                          : ""),
      {{"path", folder}});
}

void HashFile(XXH3_state_t& state, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  // The length keeps bytes from moving unseen between neighbouring files.
  const uint64_t size = content.size();
  XXH3_64bits_update(&state, &size, sizeof(size));
  XXH3_64bits_update(&state, content.data(), content.size());
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::string& folder,
                                            const std::string& head_file) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  std::error_code ignored;
  absl::Status status;
  if (fs::exists(fs::path(folder) / kWeightFile, ignored)) {
    status = checkpoint.Add(kWeightFile);
  } else if (fs::exists(fs::path(folder) / kIndexFile, ignored)) {
    status = checkpoint.AddShards();
  } else {
    status = NoWeights(folder);
  }
  if (status.ok() && !head_file.empty()) {
    if (IsPlainFileName(head_file)) {
      status = checkpoint.Add(head_file);
    } else {
      status = MakeError(absl::StatusCode::kInvalidArgument, "BAD_CONFIG_FIELD",
                         absl::StrCat("head_file \"", head_file, "\" is not the name of a file ",
                                      "beside config.json"),
                         {{"field", "head_file"}, {"value", head_file}});
    }
  }
  if (!status.ok()) return status;
  return checkpoint;
}

absl::Status Checkpoint::Add(const std::string& file_name) {
  const auto file = SafetensorsFile::Open((fs::path(folder_) / file_name).string());
  if (!file.ok()) return file.status();
  for (const auto& [name, tensor] : (*file)->tensors()) {
    if (!tensors_.emplace(name, tensor).second) {
      return MakeError(absl::StatusCode::kInvalidArgument, "DUPLICATE_TENSOR",
                       absl::StrCat((*file)->path(), ": tensor \"", name,
                                    "\" is in another file of the model too"),
                       {{"tensor", name}});
    }
  }
  files_.push_back(*file);
  return absl::OkStatus();
}

absl::Status Checkpoint::AddShards() {
  const absl::StatusOr<nlohmann::json> index =
      ReadJsonFile((fs::path(folder_) / kIndexFile).string());
  if (!index.ok()) return index.status();
  if (!index->is_object() || !index->contains("weight_map") ||
      !(*index)["weight_map"].is_object()) {
    return BadIndex("has no weight_map object");
  }
  const nlohmann::json& weight_map = (*index)["weight_map"];
  std::map<std::string, std::string> file_of;
  std::set<std::string> shards;
  for (const auto& [tensor, file] : weight_map.items()) {
    if (!file.is_string() || !IsPlainFileName(file.get_ref<const std::string&>())) {
      return BadIndex(absl::StrCat("the file of tensor \"", tensor, "\" is not a plain file name"));
    }
    file_of[tensor] = file.get<std::string>();
    shards.insert(file.get<std::string>());
  }
  for (const std::string& shard : shards) {
    if (absl::Status status = Add(shard); !status.ok()) return status;
    for (const auto& [name, tensor] : files_.back()->tensors()) {
      const auto listed = file_of.find(name);
      if (listed == file_of.end() || listed->second != shard) {
        return BadIndex(absl::StrCat("does not say that tensor \"", name, "\" is in ", shard));
      }
    }
  }
  for (const auto& [tensor, shard] : file_of) {
    if (!tensors_.contains(tensor)) {
      return BadIndex(absl::StrCat("tensor \"", tensor, "\" is not in ", shard));
    }
  }
  return absl::OkStatus();
}

const TensorView* Checkpoint::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::string Checkpoint::Version() const {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const char* const name : {"config.json", "tokenizer.json", "tokenizer_config.json"}) {
    HashFile(state, fs::path(folder_) / name);
  }
  for (const auto& file : files_) {
    XXH3_64bits_update(&state, file->bytes().data(), file->bytes().size());
  }
  return absl::StrFormat("%016x", XXH3_64bits_digest(&state));
}

}  // namespace heed
