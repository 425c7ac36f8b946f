// How a channel to Heed balances and retries, in gRPC's own language: one text that clients in any
// language can use as it is.
#pragma once

namespace heed {

// gRPC service config (JSON): round robin over all addresses of the name; UNAVAILABLE is tried
// again with backoff for the reading calls of Heed, all of which are idempotent. Loading and
// unloading a model and the health check are not in it: the first two act, and the last one must
// say what is true now. Of the streams only GetAttention is, which is tried again as long as
// nothing of it has come: a stream that broke later cannot be replayed.
extern const char kServiceConfig[];

}  // namespace heed
