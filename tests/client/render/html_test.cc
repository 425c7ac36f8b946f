#include "client/render/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/client/page/synthetic_attention.h"

namespace heed::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What stands in the <script> with that id.
std::string Block(const std::string& html, const std::string& id) {
  const size_t start = html.find(">", html.find(absl::StrCat("id=\"", id, "\">"))) + 1;
  return html.substr(start, html.find("</script>", start) - start);
}

std::string Bytes(const std::string& html, const std::string& id) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(Block(html, id), &bytes));
  return bytes;
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

TEST(HtmlTest, HoldsExactlyTheNumbers) {
  const AttentionData weights = SyntheticAttention(2, 3, {"a", "b"});
  const AttentionData rollout = SyntheticRollout(weights);
  const AttentionData entropy = SyntheticEntropy(weights);
  const auto html = RenderAttentionPage(
      {.text = "a b", .weights = &weights, .rollout = &rollout, .entropy = &entropy});
  ASSERT_TRUE(html.ok()) << html.status();
  EXPECT_EQ(Floats(Bytes(*html, "weights")), weights.weights);
  EXPECT_EQ(Floats(Bytes(*html, "rollout")), rollout.weights);
  EXPECT_EQ(Floats(Bytes(*html, "entropy")), entropy.weights);
  const auto meta = nlohmann::json::parse(Block(*html, "meta"));
  EXPECT_EQ(meta["layers"], (std::vector<int>{0, 1}));
  EXPECT_EQ(meta["tokens"][2]["start"], 2);
  EXPECT_EQ(meta["palette"].size(), 256u);
}

// No text ends the element it stands in, whatever the case of its letters.
TEST(HtmlTest, KeepsTextFromBecomingMarkup) {
  AttentionData weights = SyntheticAttention(
      1, 1, {"</script><script>alert(1)</script>", "<!--<ScRiPt", "\xff", "{{weights}}"});
  weights.header.set_model_name("<img src=x>&\"");
  v1::LabelScore* const label = weights.header.mutable_classification()->add_labels();
  label->set_label("</SCRIPT>");
  const auto html = RenderAttentionPage({.text = "</script>", .weights = &weights});
  ASSERT_TRUE(html.ok()) << html.status();
  EXPECT_THAT(*html, Not(HasSubstr("<img")));
  EXPECT_THAT(*html, HasSubstr("&lt;img src=x&gt;&amp;&quot;"));
  const std::string meta = Block(*html, "meta");
  EXPECT_FALSE(absl::StrContains(meta, "<"));
  const auto parsed = nlohmann::json::parse(meta);
  EXPECT_EQ(parsed["tokens"][1]["piece"], "</script><script>alert(1)</script>");
  EXPECT_EQ(parsed["tokens"][4]["piece"], "{{weights}}");
  EXPECT_EQ(parsed["labels"][0]["label"], "</SCRIPT>");
}

TEST(HtmlTest, NamesNothingOutsideItself) {
  const AttentionData weights = SyntheticAttention(1, 1, {"a"});
  const auto html = RenderAttentionPage({.weights = &weights});
  ASSERT_TRUE(html.ok());
  for (const char* const reference :
       {"http:", "https:", "//cdn", "src=", "href=", "@import", "url(", "{{"}) {
    EXPECT_THAT(*html, Not(HasSubstr(reference)));
  }
  EXPECT_THAT(*html, HasSubstr("default-src 'none'; script-src 'sha256-"));
}

TEST(HtmlTest, ShowsWhatTopKKept) {
  AttentionData data = SyntheticAttention(1, 1, {});
  data.top_k = 1;
  data.header.set_shape(3, 1);
  data.weights = {0.75f, 0.5f};
  data.columns = {1, 0};
  const auto html = RenderAttentionPage({.weights = &data});
  ASSERT_TRUE(html.ok()) << html.status();
  const std::vector<float> shown = Floats(Bytes(*html, "weights"));
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[1], 0.75f);
  EXPECT_EQ(shown[2], 0.5f);
  EXPECT_NE(shown[0], shown[0]);
}

TEST(HtmlTest, RoundsWhatIsTooLargeToBeExact) {
  AttentionData data = SyntheticAttention(1, 9, std::vector<std::string>(1022, "x"));
  ASSERT_GT(data.weights.size() * sizeof(float), kMaxExactPageBytes);
  const auto html = RenderAttentionPage({.weights = &data});
  ASSERT_TRUE(html.ok()) << html.status();
  EXPECT_EQ(nlohmann::json::parse(Block(*html, "meta"))["encoding"], "uint8");
  const std::string bytes = Bytes(*html, "weights");
  const size_t rows = size_t{9} * 1024;
  ASSERT_EQ(bytes.size(), 4 * rows + data.weights.size());
  const std::vector<float> largest = Floats(bytes.substr(0, 4 * rows));
  for (size_t i = 0; i < data.weights.size(); i += 997) {
    const float shown = static_cast<float>(static_cast<unsigned char>(bytes[4 * rows + i])) *
                        largest[i / 1024] / 255.0f;
    ASSERT_NEAR(shown, data.weights[i], largest[i / 1024] / 509.0f) << i;
  }
}

TEST(HtmlTest, RefusesPartsThatDoNotFit) {
  const AttentionData weights = SyntheticAttention(2, 2, {"a"});
  const AttentionData other = SyntheticAttention(2, 2, {"a", "b"});
  const AttentionData rollout = SyntheticRollout(other);
  const AttentionData entropy = SyntheticEntropy(other);
  EXPECT_FALSE(RenderAttentionPage({}).ok());
  EXPECT_FALSE(RenderAttentionPage({.weights = &rollout}).ok());
  EXPECT_FALSE(RenderAttentionPage({.weights = &weights, .rollout = &rollout}).ok());
  EXPECT_FALSE(RenderAttentionPage({.weights = &weights, .entropy = &entropy}).ok());
  EXPECT_FALSE(RenderAttentionPage({.weights = &weights, .rollout = &weights}).ok());
  EXPECT_FALSE(RenderAttentionPage({.weights = &weights, .importance = {1.0f}}).ok());
  const absl::Status status = WriteAttentionPage("/no/such/a.html", {.weights = &weights});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace heed::cli
