#include "model/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace heed {
namespace {

// LibTorch brings an OpenMP runtime of its own: linking the compiler's would be a second one. Its
// number of threads is a setting of each thread, which at::set_num_threads mixes with settings of
// the process.
template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void SetThreads(int count) {
  static auto* const set = Find<void(int)>("omp_set_num_threads");
  if (set != nullptr) set(count);
}

}  // namespace

OneThread::OneThread() : before_(at::get_num_threads()) { SetThreads(1); }

OneThread::~OneThread() { SetThreads(before_); }

}  // namespace heed
