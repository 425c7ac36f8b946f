#include <map>

#include "model/checkpoint/architectures/architecture.h"

namespace heed {

#define HEED_ARCHITECTURE(name, model_type) Architecture Make_##name();
#include "model/checkpoint/architectures/architectures.inc"
#undef HEED_ARCHITECTURE

namespace {

const std::map<std::string, Architecture>& Architectures() {
  static const auto* const architectures = new std::map<std::string, Architecture>{
#define HEED_ARCHITECTURE(name, model_type) {model_type, Make_##name()},
#include "model/checkpoint/architectures/architectures.inc"
#undef HEED_ARCHITECTURE
  };
  return *architectures;
}

}  // namespace

const Architecture* FindArchitecture(const std::string& model_type) {
  const auto found = Architectures().find(model_type);
  return found == Architectures().end() ? nullptr : &found->second;
}

std::vector<std::string> ArchitectureNames() {
  std::vector<std::string> names;
  for (const auto& [name, architecture] : Architectures()) names.push_back(name);
  return names;
}

}  // namespace heed
