#include "client/render/npz.h"

#include <zip.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/render/attention_arrays.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

// numpy's own alignment of the data, in format 1.0 and later.
constexpr size_t kAlignment = 64;
// 1 January 1980, the first day a zip file knows: the same data make the same file.
constexpr time_t kZipEpoch = 315532800;

// One member of the archive, without ".npy".
struct Member {
  std::string name;
  std::string npy;
};

absl::string_view Descr(ArrayType type) {
  switch (type) {
    case ArrayType::kBool:
      return "|b1";
    case ArrayType::kFloat32:
      return "<f4";
    case ArrayType::kUint32:
      return "<u4";
    case ArrayType::kInt64:
      return "<i8";
  }
  return "";
}

// Magic, version 1.0, length of the header, and the header, which ends with a newline
// (numpy.lib.format). The headers here are far below the 64 KiB of that version.
std::string NpyHeader(absl::string_view descr, const std::vector<size_t>& shape) {
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  constexpr size_t kPreamble = 10;
  header.append(kAlignment - 1 - (kPreamble + header.size()) % kAlignment, ' ');
  header.push_back('\n');
  std::string npy("\x93NUMPY\x01\x00", 8);
  npy.push_back(static_cast<char>(header.size() & 0xFF));
  npy.push_back(static_cast<char>(header.size() >> 8));
  return absl::StrCat(npy, header);
}

// A text for numpy: UTF-32, all of an array as long as the longest, padded with zeros.
Member Texts(const std::string& name, const std::vector<std::u32string>& texts, bool scalar) {
  size_t length = 1;
  for (const std::u32string& text : texts) length = std::max(length, text.size());
  Member member = {name, NpyHeader(absl::StrCat("<U", length),
                                   scalar ? std::vector<size_t>() : std::vector{texts.size()})};
  for (const std::u32string& text : texts) {
    for (size_t i = 0; i < length; ++i) {
      const char32_t c = i < text.size() ? text[i] : 0;
      for (int shift = 0; shift < 32; shift += 8) {
        member.npy.push_back(static_cast<char>((c >> shift) & 0xFF));
      }
    }
  }
  return member;
}

std::vector<Member> Members(const AttentionData& data) {
  std::vector<Member> members;
  for (const NamedArray& array : AttentionArrays(data)) {
    members.push_back(
        {array.name, absl::StrCat(NpyHeader(Descr(array.type), array.shape), array.bytes)});
  }
  std::vector<std::u32string> pieces;
  for (const v1::Token& token : data.header.tokens()) pieces.push_back(ToUtf32(token.piece()));
  members.push_back(Texts("tokens", pieces, /*scalar=*/false));
  members.push_back(Texts("model", {ToUtf32(data.header.model_name())}, /*scalar=*/true));
  members.push_back(
      Texts("model_version", {ToUtf32(data.header.model_version())}, /*scalar=*/true));
  members.push_back(Texts("reduction", {ToUtf32(ReductionName(data.reduction))}, /*scalar=*/true));
  return members;
}

absl::Status CannotWrite(const std::string& path, absl::string_view why) {
  return absl::UnknownError(absl::StrCat("cannot write ", path, ": ", why));
}

absl::Status AddMember(zip_t* archive, const Member& member) {
  zip_source_t* const source =
      zip_source_buffer(archive, member.npy.data(), member.npy.size(), /*freep=*/0);
  if (source == nullptr) return absl::UnknownError(zip_strerror(archive));
  const zip_int64_t index =
      zip_file_add(archive, absl::StrCat(member.name, ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return absl::UnknownError(zip_strerror(archive));
  }
  const auto place = static_cast<zip_uint64_t>(index);
  // As numpy.savez does; noise of float32 hardly shrinks.
  if (zip_set_file_compression(archive, place, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_mtime(archive, place, kZipEpoch, 0) != 0) {
    return absl::UnknownError(zip_strerror(archive));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteNpz(const std::string& path, const AttentionData& data) {
  // They must outlive the archive, which reads them when it is closed.
  const std::vector<Member> members = Members(data);
  int code = 0;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive(
      zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code), zip_discard);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const absl::Status status = CannotWrite(path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
  }
  for (const Member& member : members) {
    if (absl::Status status = AddMember(archive.get(), member); !status.ok()) {
      return CannotWrite(path, status.message());
    }
  }
  if (zip_close(archive.get()) != 0) return CannotWrite(path, zip_strerror(archive.get()));
  archive.release();  // zip_close() has freed it
  return absl::OkStatus();
}

}  // namespace heed::cli
