#include "model/attention/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace heed {
namespace {

TEST(MaxFlowTest, TheTextbookExample) {
  // Cormen et al., Introduction to Algorithms, figure 26.1: 23.
  MaxFlow graph(6);
  graph.AddEdge(0, 1, 16);
  graph.AddEdge(0, 2, 13);
  graph.AddEdge(1, 3, 12);
  graph.AddEdge(2, 1, 4);
  graph.AddEdge(2, 4, 14);
  graph.AddEdge(3, 2, 9);
  graph.AddEdge(3, 5, 20);
  graph.AddEdge(4, 3, 7);
  graph.AddEdge(4, 5, 4);
  EXPECT_DOUBLE_EQ(graph.Solve(0, 5), 23);
  EXPECT_DOUBLE_EQ(graph.Solve(5, 0), 0);
  EXPECT_DOUBLE_EQ(graph.Solve(0, 5), 23) << "a flow must not leave anything behind";
}

// The largest flow is the smallest cut (Ford and Fulkerson, 1956), found by trying every cut.
TEST(MaxFlowTest, IsTheSmallestCut) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr int kNodes = 8;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<double>> capacity(kNodes, std::vector<double>(kNodes, 0));
    MaxFlow graph(kNodes);
    for (int i = 0; i < kNodes; ++i) {
      for (int j = 0; j < kNodes; ++j) {
        if (i == j || uniform(random) < 0.4) continue;
        capacity[i][j] = uniform(random);
        graph.AddEdge(i, j, capacity[i][j]);
      }
    }
    double smallest = std::numeric_limits<double>::infinity();
    for (int set = 0; set < 1 << kNodes; ++set) {
      if ((set & 1) == 0 || (set >> (kNodes - 1) & 1) == 1) continue;
      double cut = 0;
      for (int i = 0; i < kNodes; ++i) {
        for (int j = 0; j < kNodes; ++j) {
          if ((set >> i & 1) == 1 && (set >> j & 1) == 0) cut += capacity[i][j];
        }
      }
      smallest = std::min(smallest, cut);
    }
    EXPECT_NEAR(graph.Solve(0, kNodes - 1), smallest, 1e-10);
  }
}

}  // namespace
}  // namespace heed
