#include "model/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/checkpoint/json.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation

struct DTypeEntry {
  DType dtype;
  absl::string_view name;
  size_t bytes;
};

constexpr std::array<DTypeEntry, 13> kDTypes = {{
    {DType::kBool, "BOOL", 1},
    {DType::kU8, "U8", 1},
    {DType::kI8, "I8", 1},
    {DType::kI16, "I16", 2},
    {DType::kU16, "U16", 2},
    {DType::kF16, "F16", 2},
    {DType::kBF16, "BF16", 2},
    {DType::kI32, "I32", 4},
    {DType::kU32, "U32", 4},
    {DType::kF32, "F32", 4},
    {DType::kF64, "F64", 8},
    {DType::kI64, "I64", 8},
    {DType::kU64, "U64", 8},
}};

const DTypeEntry& EntryOf(DType dtype) {
  return *std::find_if(kDTypes.begin(), kDTypes.end(),
                       [&](const DTypeEntry& entry) { return entry.dtype == dtype; });
}

absl::Status Broken(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "MALFORMED_SAFETENSORS", what);
}

absl::Status BrokenTensor(absl::string_view name, absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "MALFORMED_SAFETENSORS",
                   absl::StrCat("tensor \"", name, "\": ", what), {{"tensor", std::string(name)}});
}

// Bytes of shape × dtype; nothing when they do not fit in 63 bits.
std::optional<uint64_t> ByteCount(const std::vector<int64_t>& shape, size_t element_bytes) {
  uint64_t bytes = element_bytes;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size == 0) {
      empty = true;
      continue;
    }
    if (bytes >
        static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / static_cast<uint64_t>(size)) {
      return std::nullopt;
    }
    bytes *= static_cast<uint64_t>(size);
  }
  return empty ? 0 : bytes;
}

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  absl::string_view name;
};

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view name, const json& value) {
  if (!value.is_array()) return BrokenTensor(name, "shape is not a list");
  std::vector<int64_t> shape;
  for (const json& size : value) {
    if (!size.is_number_unsigned() ||
        size.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return BrokenTensor(name, absl::StrCat("shape holds ", size.dump(),
                                             ", which is no non-negative 63-bit integer"));
    }
    shape.push_back(size.get<int64_t>());
  }
  return shape;
}

absl::StatusOr<Range> ParseOffsets(absl::string_view name, const json& value,
                                   uint64_t buffer_bytes) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() ||
      !value[1].is_number_unsigned()) {
    return BrokenTensor(name, "data_offsets is not a pair of non-negative integers");
  }
  const Range range{value[0].get<uint64_t>(), value[1].get<uint64_t>(), name};
  if (range.begin > range.end || range.end > buffer_bytes) {
    return BrokenTensor(
        name, absl::StrCat("data_offsets [", range.begin, ", ", range.end, ") are not inside the ",
                           buffer_bytes, " bytes of data"));
  }
  return range;
}

// The data must be covered exactly: no overlap, no hole, nothing after the last tensor.
absl::Status CheckCover(std::vector<Range> ranges, uint64_t buffer_bytes) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin < covered) {
      return BrokenTensor(range.name,
                          absl::StrCat("its data overlaps another tensor's at byte ", range.begin));
    }
    if (range.begin > covered) {
      return Broken(
          absl::StrCat("bytes ", covered, " to ", range.begin, " of the data belong to no tensor"));
    }
    covered = range.end;
  }
  if (covered != buffer_bytes) {
    return Broken(absl::StrCat(buffer_bytes - covered, " bytes after the last tensor"));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const std::byte>> MapFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const absl::StatusCode code =
        errno == EACCES ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kNotFound;
    return MakeError(code, "FILE_NOT_FOUND", std::strerror(errno), {{"path", path}});
  }
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return Broken("not a regular file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size < kLengthBytes) {
    close(fd);
    return Broken(absl::StrCat("only ", size, " bytes; the header length alone takes 8"));
  }
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot map: ", std::strerror(errno)));
  }
  return absl::MakeConstSpan(static_cast<const std::byte*>(data), size);
}

}  // namespace

size_t ElementSize(DType dtype) { return EntryOf(dtype).bytes; }

absl::string_view DTypeName(DType dtype) { return EntryOf(dtype).name; }

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  for (const DTypeEntry& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  return Broken(absl::StrCat("unknown dtype \"", name, "\""));
}

int64_t TensorView::element_count() const {
  return static_cast<int64_t>(data.size() / ElementSize(dtype));
}

std::string ShapeString(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

SafetensorsFile::~SafetensorsFile() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

const TensorView* SafetensorsFile::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::Open(
    const std::string& path) {
  const std::string prefix = absl::StrCat(path, ": ");
  absl::StatusOr<absl::Span<const std::byte>> bytes = MapFile(path);
  if (!bytes.ok()) return WithMessagePrefix(bytes.status(), prefix);
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->path_ = path;
  file->bytes_ = *bytes;
  if (absl::Status status = file->Parse(); !status.ok()) return WithMessagePrefix(status, prefix);
  return file;
}

absl::Status SafetensorsFile::Parse() {
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes_.data(), kLengthBytes);  // little-endian, as x86-64 is
  const uint64_t after_length = bytes_.size() - kLengthBytes;
  if (header_bytes > kMaxHeaderBytes || header_bytes > after_length) {
    return Broken(absl::StrCat("header of ", header_bytes, " bytes; the file has ", after_length,
                               " after its length and the limit is ", kMaxHeaderBytes));
  }
  const absl::string_view text(reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes,
                               header_bytes);
  if (text.empty() || text[0] != '{') return Broken("the header does not begin with '{'");
  absl::StatusOr<json> header = ParseJson(text);
  if (!header.ok()) return WithMessagePrefix(header.status(), "header: ");

  const absl::Span<const std::byte> buffer = bytes_.subspan(kLengthBytes + header_bytes);
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header->items()) {
    if (!entry.is_object()) return BrokenTensor(name, "its entry is not an object");
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return Broken("__metadata__ holds something other than strings");
        metadata_.emplace(key, value.get<std::string>());
      }
      continue;
    }
    for (const char* const key : {"dtype", "shape", "data_offsets"}) {
      if (!entry.contains(key)) return BrokenTensor(name, absl::StrCat("has no ", key));
    }
    if (entry.size() != 3) {
      return BrokenTensor(name, "has more than dtype, shape and data_offsets");
    }
    if (!entry["dtype"].is_string()) return BrokenTensor(name, "dtype is not a string");
    const absl::StatusOr<DType> dtype = ParseDType(entry["dtype"].get_ref<const std::string&>());
    if (!dtype.ok()) return BrokenTensor(name, dtype.status().message());
    absl::StatusOr<std::vector<int64_t>> shape = ParseShape(name, entry["shape"]);
    if (!shape.ok()) return shape.status();
    absl::StatusOr<Range> range = ParseOffsets(name, entry["data_offsets"], buffer.size());
    if (!range.ok()) return range.status();

    const std::optional<uint64_t> expected = ByteCount(*shape, ElementSize(*dtype));
    if (!expected.has_value() || *expected != range->end - range->begin) {
      return BrokenTensor(
          name, absl::StrCat("shape ", ShapeString(*shape), " of ", DTypeName(*dtype), " needs ",
                             expected.has_value() ? absl::StrCat(*expected) : "too many",
                             " bytes, data_offsets give ", range->end - range->begin));
    }
    const auto [tensor, inserted] =
        tensors_.emplace(name, TensorView{*dtype, *std::move(shape),
                                          buffer.subspan(range->begin, range->end - range->begin)});
    range->name = tensor->first;
    ranges.push_back(*range);
  }
  return CheckCover(std::move(ranges), buffer.size());
}

}  // namespace heed
