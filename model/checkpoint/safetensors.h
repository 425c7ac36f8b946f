// Reads a safetensors file without trusting it: every number in the header is checked against the
// file before a tensor can be seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace heed {

enum class DType { kBool, kU8, kI8, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kF64, kI64, kU64 };

// Bytes of one element.
size_t ElementSize(DType dtype);
// As the format writes it, e.g. "F32".
absl::string_view DTypeName(DType dtype);
absl::StatusOr<DType> ParseDType(absl::string_view name);

// One tensor in a mapped file: row-major, little-endian, of any alignment.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  absl::Span<const std::byte> data;  // lives as long as the file object

  int64_t element_count() const;
};

// "[2, 3]".
std::string ShapeString(const std::vector<int64_t>& shape);

// A mapped file. Immutable; safe from many threads. The file must not shrink while it is mapped:
// the system answers reads beyond its end with SIGBUS. Loaders therefore copy what they keep.
class SafetensorsFile {
 public:
  // Maps and validates `path`. NOT_FOUND or PERMISSION_DENIED when it cannot be opened;
  // INVALID_ARGUMENT, naming the file and the tensor at fault, when it breaks the format: a header
  // longer than the file or than 100 MB, or not an object; a name twice; an unknown dtype; a
  // negative or overflowing shape; a byte range that is out of the file, not as long as shape ×
  // dtype, overlapping another, or leaving bytes that belong to no tensor.
  static absl::StatusOr<std::shared_ptr<const SafetensorsFile>> Open(const std::string& path);

  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  // nullptr: no such tensor.
  const TensorView* Find(absl::string_view name) const;
  // The header's __metadata__.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }
  absl::Span<const std::byte> bytes() const { return bytes_; }

 private:
  SafetensorsFile() = default;
  absl::Status Parse();

  std::string path_;
  absl::Span<const std::byte> bytes_;  // the whole file
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace heed
