#include "server/service_decode.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "model/api/error.h"
#include "model/api/utf8.h"
#include "server/convert_status.h"

namespace heed {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Walks a message's wire form beside its descriptor and collects the strings that are not UTF-8.
// False when the bytes are no message at all.
bool FindBadStrings(const std::string& bytes, const Descriptor& descriptor,
                    const std::string& prefix, std::vector<absl::Status>& errors) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return false;
  std::map<int, int> counts;  // how often a repeated field was seen
  for (int i = 0; i < fields.field_count(); ++i) {
    if (errors.size() >= kMaxViolations) return true;
    const UnknownField& field = fields.field(i);
    const FieldDescriptor* known = descriptor.FindFieldByNumber(field.number());
    if (known == nullptr || field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    std::string path = prefix + known->name();
    if (known->is_repeated()) absl::StrAppend(&path, "[", counts[field.number()]++, "]");
    if (known->type() == FieldDescriptor::TYPE_MESSAGE) {
      if (!FindBadStrings(field.length_delimited(), *known->message_type(), path + ".", errors)) {
        return false;
      }
    } else if (known->type() == FieldDescriptor::TYPE_STRING &&
               FindInvalidUtf8(field.length_delimited()).has_value()) {
      errors.push_back(MakeError(absl::StatusCode::kInvalidArgument, "INVALID_UTF8",
                                 absl::StrCat(path, " is not valid UTF-8"), {}, path));
    }
  }
  return true;
}

}  // namespace

absl::Status Decode(grpc::ByteBuffer& buffer, google::protobuf::Message& message) {
  // An empty message may come as a buffer without slices.
  if (!buffer.Valid() || buffer.Length() == 0) {
    message.Clear();
    return absl::OkStatus();
  }
  grpc::ProtoBufferReader reader(&buffer);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  std::vector<absl::Status> errors;
  if (FindBadStrings(Flatten(buffer), *message.GetDescriptor(), "", errors) && !errors.empty()) {
    return CombineErrors(errors);
  }
  return MakeError(absl::StatusCode::kInvalidArgument, "MALFORMED_REQUEST",
                   absl::StrCat("the request is not a ", message.GetDescriptor()->full_name()),
                   {{"message", message.GetDescriptor()->full_name()}});
}

grpc::ByteBuffer Encode(const google::protobuf::Message& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  // Serializing a message built here cannot fail short of 2 GiB, which request limits rule out.
  grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &buffer,
                                                                             &own_buffer);
  return buffer;
}

}  // namespace heed
