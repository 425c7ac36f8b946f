#include "server/metrics.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

std::string Text(const Metrics& metrics) {
  return prometheus::TextSerializer().Serialize(metrics.registry()->Collect());
}

size_t Lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(MetricsTest, EverySeriesExistsBeforeTheFirstRequest) {
  Metrics metrics({"/s/A", "/s/B"});
  metrics.AddModel("m", FakeRunner().info());
  const std::string text = Text(metrics);
  EXPECT_TRUE(Has(text, "heed_requests_total{code=\"OK\",method=\"/s/A\"} 0"));
  EXPECT_TRUE(Has(text, "heed_requests_total{code=\"DATA_LOSS\",method=\"/s/B\"} 0"));
  EXPECT_TRUE(Has(text, "heed_requests_total{code=\"UNIMPLEMENTED\",method=\"unknown\"} 0"));
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_count{method=\"/s/A\"} 0"));
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_bucket{method=\"/s/A\",le=\"0.0001\"} 0"));
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_bucket{method=\"/s/A\",le=\"30\"} 0"));
  EXPECT_TRUE(Has(text, "heed_model_memory_bytes{kind=\"weights\",model=\"m\"} 4000"));
  EXPECT_TRUE(Has(text, "heed_model_memory_bytes{kind=\"packed\",model=\"m\"} 2000"));
  for (const char* name : {"bytes_total", "tiles_total", "streams_active", "reserved_bytes",
                           "cancelled_total", "stalled_total"}) {
    EXPECT_TRUE(Has(text, std::string("\nheed_attention_") + name + " 0")) << name;
  }
  EXPECT_TRUE(Has(text, "heed_queue_tokens{model=\"m\"} 0"));
  EXPECT_TRUE(Has(text, "heed_cancelled_texts_total{model=\"m\"} 0"));
  EXPECT_TRUE(Has(text, "heed_expired_texts_total{model=\"m\",reason=\"deadline\"} 0"));
}

TEST(MetricsTest, CountsOutcomes) {
  Metrics metrics({"/s/A"});
  metrics.CountRequest("/s/A", absl::StatusCode::kNotFound, absl::Milliseconds(3));
  const std::string text = Text(metrics);
  EXPECT_TRUE(Has(text, "heed_requests_total{code=\"NOT_FOUND\",method=\"/s/A\"} 1"));
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_count{method=\"/s/A\"} 1"));
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_bucket{method=\"/s/A\",le=\"0.0025\"} 0"));
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_bucket{method=\"/s/A\",le=\"0.005\"} 1"));
}

TEST(MetricsTest, NoRequestAddsASeries) {
  Metrics metrics({"/s/A"});
  const size_t before = Lines(Text(metrics));
  for (int i = 0; i < 10000; ++i) {
    metrics.CountRequest("/evil/" + std::to_string(i), static_cast<absl::StatusCode>(i),
                         absl::Milliseconds(i));
  }
  const std::string text = Text(metrics);
  EXPECT_EQ(Lines(text), before);
  EXPECT_TRUE(Has(text, "heed_request_duration_seconds_count{method=\"unknown\"} 10000"));
}

TEST(ProcessMetricsTest, ReportsResidentMemory) {
  const auto families = ProcessMetrics().Collect();
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].name, "process_resident_memory_bytes");
  EXPECT_GT(families[0].metric[0].gauge.value, 1e6);
}

}  // namespace
}  // namespace heed
