// How many threads LibTorch computes with.
#pragma once

namespace heed {

// While it lives, operators on this thread compute on it alone; for work beside the one batch that
// has the machine. Other threads keep what they have.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = 0;
};

}  // namespace heed
