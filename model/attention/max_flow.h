// Maximum flow through a directed graph with real capacities.
#pragma once

#include <cstdint>
#include <vector>

namespace heed {

// Dinic's algorithm (Dinitz, 1970): shortest augmenting paths, all of one length at a time.
class MaxFlow {
 public:
  explicit MaxFlow(int64_t node_count) : edges_of_(node_count) {}

  // Capacities that are 0 are left out.
  void AddEdge(int64_t from, int64_t to, double capacity);

  // The largest flow from `source` to `sink`, two nodes; each call begins with an empty graph.
  double Solve(int64_t source, int64_t sink);

 private:
  struct Edge {
    int64_t to = 0;
    double capacity = 0;
    double left = 0;
  };

  bool Levels(int64_t source, int64_t sink);
  double Push(int64_t from, int64_t sink, double limit);

  std::vector<Edge> edges_;  // 2k and 2k+1: an edge and its reverse
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<int64_t> level_;
  std::vector<size_t> next_;
};

}  // namespace heed
