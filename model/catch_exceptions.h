// LibTorch and the standard library throw; everything of model/ that a server calls gives a status.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {

inline absl::Status OutOfMemory(absl::string_view what) {
  return MakeError(absl::StatusCode::kResourceExhausted, "OUT_OF_MEMORY",
                   absl::StrCat("out of memory: ", what));
}

// Runs `body`, which returns a status or a StatusOr, and turns what LibTorch throws into a status.
template <typename Body>
auto CatchExceptions(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return OutOfMemory("allocation failed");
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    // The CPU allocator throws a plain c10::Error.
    if (absl::StrContains(what, "not enough memory") || absl::StrContains(what, "out of memory")) {
      return OutOfMemory(what);
    }
    return MakeError(absl::StatusCode::kInternal, "COMPUTE_FAILED", what);
  } catch (const std::exception& error) {
    return MakeError(absl::StatusCode::kInternal, "COMPUTE_FAILED", error.what());
  }
}

}  // namespace heed
