#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/positional/encoding.h"

namespace heed {

#define HEED_ENCODING(name) \
  absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_##name(const EncodingSpec& spec);
#include "model/positional/encodings.inc"
#undef HEED_ENCODING

namespace {

const std::map<std::string, EncodingFactory, std::less<>>& Factories() {
  static const auto* const factories = new std::map<std::string, EncodingFactory, std::less<>>{
#define HEED_ENCODING(name) {#name, Make_##name},
#include "model/positional/encodings.inc"
#undef HEED_ENCODING
  };
  return *factories;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> MakePositionalEncoding(
    absl::string_view name, const EncodingSpec& spec) {
  const auto factory = Factories().find(std::string(name));
  if (factory == Factories().end()) {
    return MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_POSITIONAL_ENCODING",
                     absl::StrCat("positional encoding \"", name, "\" is not one of ",
                                  absl::StrJoin(PositionalEncodingNames(), ", ")),
                     {{"positionalEncoding", std::string(name)}});
  }
  return factory->second(spec);
}

std::vector<std::string> PositionalEncodingNames() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : Factories()) names.push_back(name);
  return names;
}

}  // namespace heed
