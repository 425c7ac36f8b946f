#include "model/checkpoint/safetensors_writer.h"

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "model/checkpoint/json.h"

namespace heed {

absl::Status WriteSafetensors(const std::string& path,
                              const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", std::string(DTypeName(tensor.dtype))},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');

  const std::string temporary = absl::StrCat(path, ".tmp");
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    const uint64_t length = text.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file << text;
    for (const auto& [name, tensor] : tensors) {
      file.write(reinterpret_cast<const char*>(tensor.data.data()),
                 static_cast<std::streamsize>(tensor.data.size()));
    }
    file.flush();
    if (!file) return absl::UnknownError(absl::StrCat("cannot write ", temporary));
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::UnknownError(absl::StrCat("cannot replace ", path));
  }
  return absl::OkStatus();
}

}  // namespace heed
