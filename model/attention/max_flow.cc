#include "model/attention/max_flow.h"

#include <algorithm>
#include <limits>

namespace heed {
namespace {

// What rounding leaves of an edge that is full; capacities are at most 1.
constexpr double kNothing = 1e-13;

}  // namespace

void MaxFlow::AddEdge(int64_t from, int64_t to, double capacity) {
  if (capacity <= 0) return;
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0, 0});
}

double MaxFlow::Solve(int64_t source, int64_t sink) {
  for (Edge& edge : edges_) edge.left = edge.capacity;
  double flow = 0;
  while (Levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    flow += Push(source, sink, std::numeric_limits<double>::infinity());
  }
  return flow;
}

// Distances from the source over edges with room; whether the sink is reached.
bool MaxFlow::Levels(int64_t source, int64_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<int64_t> queue{source};
  for (size_t i = 0; i < queue.size() && level_[sink] < 0; ++i) {
    for (const size_t e : edges_of_[queue[i]]) {
      const Edge& edge = edges_[e];
      if (edge.left <= kNothing || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[i]] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

// Sends up to `limit` along shortest paths; as deep as the graph has levels.
double MaxFlow::Push(int64_t from, int64_t sink, double limit) {
  if (from == sink) return limit;
  double sent = 0;
  for (size_t& i = next_[from]; i < edges_of_[from].size(); ++i) {
    const size_t e = edges_of_[from][i];
    Edge& edge = edges_[e];
    if (edge.left <= kNothing || level_[edge.to] != level_[from] + 1) continue;
    const double part = Push(edge.to, sink, std::min(limit - sent, edge.left));
    if (part > 0) {
      edge.left -= part;
      edges_[e ^ 1].left += part;
      sent += part;
    }
    // The edge may have room for the next that asks.
    if (limit - sent <= kNothing) return sent;
  }
  return sent;
}

}  // namespace heed
