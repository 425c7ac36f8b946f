#include "client/render/safetensors.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/render/attention_arrays.h"
#include "client/render/json_util.h"

namespace heed::cli {
namespace {

const char* TypeName(ArrayType type) {
  switch (type) {
    case ArrayType::kBool:
      return "BOOL";
    case ArrayType::kFloat32:
      return "F32";
    case ArrayType::kUint32:
      return "U32";
    case ArrayType::kInt64:
      return "I64";
  }
  return "";
}

// The length of the header as eight bytes, and the header, padded so that the data are aligned.
std::string Header(const AttentionData& data, const std::vector<NamedArray>& arrays) {
  Json pieces = Json::array();
  for (const v1::Token& token : data.header.tokens()) pieces.push_back(token.piece());
  Json json;
  json["__metadata__"] = {{"model", data.header.model_name()},
                          {"model_version", data.header.model_version()},
                          {"reduction", ReductionName(data.reduction)},
                          {"tokens", Dump(pieces)}};
  size_t begin = 0;
  for (const NamedArray& array : arrays) {
    const size_t end = begin + array.bytes.size();
    json[array.name] = {
        {"dtype", TypeName(array.type)}, {"shape", array.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = Dump(json);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string header;
  for (size_t i = 0; i < 8; ++i) {
    header.push_back(static_cast<char>((uint64_t{text.size()} >> (8 * i)) & 0xFF));
  }
  return absl::StrCat(header, text);
}

}  // namespace

absl::Status WriteSafetensors(const std::string& path, const AttentionData& data) {
  const std::vector<NamedArray> arrays = AttentionArrays(data);
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const bool opened = file.is_open();
  file << Header(data, arrays);
  for (const NamedArray& array : arrays) file << array.bytes;
  file.close();
  if (file.good()) return absl::OkStatus();
  const std::string why = std::strerror(errno);
  if (opened) std::remove(path.c_str());
  return absl::UnknownError(absl::StrCat("cannot write ", path, ": ", why));
}

}  // namespace heed::cli
