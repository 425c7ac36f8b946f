// Writes the page that page_test.py opens, and its numbers as JSON to hold it against.
// Usage: write_page PAGE.html NUMBERS.json
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "client/render/html.h"
#include "tests/client/page/synthetic_attention.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: write_page PAGE.html NUMBERS.json\n";
    return 2;
  }
  const heed::AttentionData weights =
      heed::SyntheticAttention(3, 4, {"A", "</script>", "naïve", "שלום", "映画", "<b>&amp;"});
  const heed::AttentionData rollout = heed::SyntheticRollout(weights);
  const heed::AttentionData entropy = heed::SyntheticEntropy(weights);
  heed::cli::AttentionPage page;
  page.text = "A </script> naïve שלום 映画 <b>&amp;";
  page.weights = &weights;
  page.rollout = &rollout;
  page.entropy = &entropy;
  for (int i = 0; i < weights.header.tokens_size(); ++i) {
    page.importance.push_back(0.01f * static_cast<float>(i + 1));
  }
  page.importance_name = "made up";
  if (const absl::Status status = heed::cli::WriteAttentionPage(argv[1], page); !status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::vector<std::string> pieces;
  for (const auto& token : weights.header.tokens()) pieces.push_back(token.piece());
  std::ofstream(argv[2]) << nlohmann::json{
      {"tokens", pieces},           {"shape", {3, 4, pieces.size(), pieces.size()}},
      {"raw", weights.weights},     {"rollout", rollout.weights},
      {"entropy", entropy.weights}, {"importance", page.importance},
      {"text", page.text}};
  return 0;
}
