#include "model/train/split.h"

#include <cstdint>

namespace heed {
namespace {

uint64_t Fnv1a(uint64_t hash, absl::string_view text) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

// FNV-1a alone leaves the low bits of short ids uneven.
uint64_t Finalise(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Split SplitOf(absl::string_view data_set, absl::string_view id) {
  uint64_t hash = Fnv1a(0xcbf29ce484222325, data_set);
  hash = Fnv1a(hash, "\t");
  hash = Fnv1a(hash, id);
  const uint64_t bucket = Finalise(hash) % 10;
  if (bucket < 8) return Split::kTrain;
  return bucket == 8 ? Split::kValidation : Split::kTest;
}

}  // namespace heed
