#include <ATen/ATen.h>

#include "tests/model/attention/naive.h"

namespace heed {
namespace {

std::vector<double> Row(const at::Tensor& table, int64_t row) {
  const at::Tensor x = table[row].to(at::kDouble).contiguous();
  return {x.data_ptr<double>(), x.data_ptr<double>() + x.numel()};
}

double At(const at::Tensor& x, int64_t i) { return x[i].item<float>(); }
double At(const at::Tensor& x, int64_t i, int64_t j) { return x[i][j].item<float>(); }

int64_t Clip(int64_t x, int64_t low, int64_t high) { return std::clamp(x, low, high); }

NaiveEncoding Named(const std::string& name) {
  NaiveEncoding encoding;
  encoding.name = name;
  return encoding;
}

// Shaw et al., equations 3 and 4, with values.
NaiveEncoding Shaw(int64_t head_size) {
  const at::Tensor keys = at::randn({7, head_size});
  const at::Tensor values = at::randn({7, head_size});
  NaiveEncoding e = Named("shaw");
  e.weights = {{"layers.0.positional.key_table", keys},
               {"layers.0.positional.value_table", values}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    return h.scale * Dot(h.query[i], Row(keys, Clip(h.positions[j] - h.positions[i], -3, 3) + 3));
  };
  e.value = [=](const NaiveHead& h, int64_t i, int64_t j) {
    return Row(values, Clip(h.positions[j] - h.positions[i], -3, 3) + 3);
  };
  return e;
}

// Huang et al., method 4, with BERT's sign.
NaiveEncoding RelativeKeyQuery(int64_t head_size) {
  const at::Tensor table = at::randn({99, head_size});
  NaiveEncoding e = Named("relative_key_query");
  e.weights = {{"layers.0.positional.key_table", table}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    const auto row = Row(table, Clip(h.positions[i] - h.positions[j], -49, 49) + 49);
    return h.scale * (Dot(h.query[i], row) + Dot(h.key[j], row));
  };
  return e;
}

// Raffel et al., section 2.1: half the buckets for each direction; half of those exact, the rest
// logarithmic up to max_distance.
int64_t T5Bucket(int64_t distance, int64_t buckets, int64_t max_distance) {
  const int64_t half = buckets / 2;
  const int64_t base = distance > 0 ? half : 0;
  const int64_t x = std::abs(distance);
  const int64_t exact = half / 2;
  if (x < exact) return base + x;
  // The small addend keeps exact powers on their own side of the boundary.
  const double place = std::log(static_cast<double>(x) / exact) /
                       std::log(static_cast<double>(max_distance) / exact) * (half - exact);
  return base + std::min<int64_t>(exact + static_cast<int64_t>(place + 1e-9), half - 1);
}

NaiveEncoding Bucketed(const std::string& name, int64_t heads) {
  const at::Tensor bias = at::randn({32, heads});
  NaiveEncoding e = Named(name);
  e.weights = {{"positional.bias", bias}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    return At(bias, T5Bucket(h.positions[j] - h.positions[i], 32, 128), h.head);
  };
  return e;
}

// He et al., equation 4, from tables that are projected already.
NaiveEncoding Disentangled(int64_t heads, int64_t head_size) {
  const int64_t span = 6;
  const at::Tensor keys = at::randn({2 * span, heads * head_size});
  const at::Tensor queries = at::randn({2 * span, heads * head_size});
  NaiveEncoding e = Named("disentangled");
  e.options = {{"max_distance", "6"}};
  e.weights = {{"layers.0.positional.key_table", keys},
               {"layers.0.positional.query_table", queries}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    const int64_t row = Clip(h.positions[i] - h.positions[j] + span, 0, 2 * span - 1);
    const auto part = [&](const at::Tensor& table) {
      const auto all = Row(table, row);
      return std::vector<double>(all.begin() + h.head * head_size,
                                 all.begin() + (h.head + 1) * head_size);
    };
    return h.scale * (Dot(h.query[i], part(keys)) + Dot(h.key[j], part(queries)));
  };
  return e;
}

// Su et al., equation 34, on halves.
NaiveEncoding Rope(int64_t head_size) {
  NaiveEncoding e = Named("rope");
  e.rotate = [=](std::vector<double>& x, bool, int64_t position, int64_t) {
    const int64_t half = head_size / 2;
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -2.0 * i / head_size);
      const double a = x[i];
      const double b = x[i + half];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
  };
  return e;
}

// Sun et al., section 2: rotation on interleaved pairs, queries scaled up and keys down.
NaiveEncoding Xpos(int64_t head_size) {
  NaiveEncoding e = Named("xpos");
  e.rotate = [=](std::vector<double>& x, bool is_key, int64_t position, int64_t) {
    for (int64_t i = 0; i < head_size / 2; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -2.0 * i / head_size);
      const double zeta = (2.0 * i / head_size + 0.4) / 1.4;
      // A common offset of the positions cancels in q·k, so none is taken off here.
      const double scale = std::pow(zeta, (is_key ? -1.0 : 1.0) * position / 512.0);
      const double a = x[2 * i];
      const double b = x[2 * i + 1];
      x[2 * i] = scale * (a * std::cos(angle) - b * std::sin(angle));
      x[2 * i + 1] = scale * (b * std::cos(angle) + a * std::sin(angle));
    }
  };
  return e;
}

// Press et al., section 3, symmetric; three heads: 2^-4, 2^-8 and the first of four, 2^-2.
NaiveEncoding Alibi() {
  NaiveEncoding e = Named("alibi");
  e.score = [](const NaiveHead& h, int64_t i, int64_t j) {
    const double slopes[] = {0.0625, 0.00390625, 0.25};
    return -slopes[h.head] * static_cast<double>(std::abs(h.positions[i] - h.positions[j]));
  };
  return e;
}

// Chi et al., logarithmic variant.
NaiveEncoding Kerple(int64_t heads) {
  const at::Tensor r1 = at::rand({heads}) + 0.5;
  const at::Tensor r2 = at::rand({heads}) + 0.5;
  NaiveEncoding e = Named("kerple_log");
  e.weights = {{"positional.r1", r1}, {"positional.r2", r2}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    const double distance = static_cast<double>(std::abs(h.positions[i] - h.positions[j]));
    return -At(r1, h.head) * std::log(1 + At(r2, h.head) * distance);
  };
  return e;
}

// Li et al., equations 7 to 9, with the larger position of the pair in the normaliser.
NaiveEncoding Fire(int64_t heads) {
  const at::Tensor w0 = at::randn({5, 1});
  const at::Tensor b0 = at::randn({5});
  const at::Tensor w2 = at::randn({heads, 5});
  const at::Tensor b2 = at::randn({heads});
  const double c = 0.7;
  const double threshold = 4;
  NaiveEncoding e = Named("fire");
  e.weights = {{"positional.mlp.0.weight", w0},      {"positional.mlp.0.bias", b0},
               {"positional.mlp.2.weight", w2},      {"positional.mlp.2.bias", b2},
               {"positional.c", at::tensor({0.7F})}, {"positional.L", at::tensor({4.F})}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    const auto psi = [&](double x) { return std::log(c * x + 1); };
    const double p = static_cast<double>(h.positions[i]);
    const double q = static_cast<double>(h.positions[j]);
    const double x = psi(std::abs(p - q)) / psi(std::max(threshold, std::max(p, q)));
    double sum = At(b2, h.head);
    for (int64_t u = 0; u < 5; ++u) {
      sum += At(w2, h.head, u) * std::max(At(w0, u, 0) * x + At(b0, u), 0.0);
    }
    return sum;
  };
  return e;
}

// Golovneva et al., equations 3 to 6, counted between the two tokens whichever comes first.
NaiveEncoding Cope(int64_t head_size) {
  const int64_t rows = 6;
  const at::Tensor table = at::randn({rows, head_size});
  NaiveEncoding e = Named("cope");
  e.weights = {{"layers.0.positional.table", table}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    double place = 0;
    for (int64_t k = std::min(i, j); k <= std::max(i, j); ++k) {
      if (h.visible[i][k]) place += 1 / (1 + std::exp(-Dot(h.query[i], h.key[k])));
    }
    place = std::min(place, static_cast<double>(rows - 1));
    const double low = std::floor(place);
    const double share = place - low;
    const int64_t next = std::min<int64_t>(static_cast<int64_t>(low) + 1, rows - 1);
    return h.scale * ((1 - share) * Dot(h.query[i], Row(table, static_cast<int64_t>(low))) +
                      share * Dot(h.query[i], Row(table, next)));
  };
  return e;
}

// Yang et al. and Dai et al.: terms b, c and d of the relative score, and XLNet's segments.
NaiveEncoding Xlnet(int64_t heads, int64_t head_size) {
  const int64_t width = heads * head_size;
  const at::Tensor r = at::randn({width, width}) * 0.3;
  const at::Tensor r_w = at::randn({heads, head_size});
  const at::Tensor r_r = at::randn({heads, head_size});
  const at::Tensor r_s = at::randn({heads, head_size});
  const at::Tensor seg = at::randn({2, heads, head_size});
  NaiveEncoding e = Named("xlnet_relative");
  e.weights = {{"layers.0.positional.r", r},
               {"layers.0.positional.r_w_bias", r_w},
               {"layers.0.positional.r_r_bias", r_r},
               {"layers.0.positional.r_s_bias", r_s},
               {"layers.0.positional.seg_embed", seg}};
  e.score = [=](const NaiveHead& h, int64_t i, int64_t j) {
    const auto distance = static_cast<double>(h.positions[i] - h.positions[j]);
    std::vector<double> sinusoid(width);
    for (int64_t t = 0; t < width / 2; ++t) {
      const double angle = distance * std::pow(10000.0, -2.0 * t / width);
      sinusoid[t] = std::sin(angle);
      sinusoid[width / 2 + t] = std::cos(angle);
    }
    const at::Tensor& same = seg[h.segments[i] == h.segments[j] ? 0 : 1];
    double sum = 0;
    for (int64_t d = 0; d < head_size; ++d) {
      double projected = 0;
      for (int64_t t = 0; t < width; ++t) {
        projected += sinusoid[t] * At(r, t, h.head * head_size + d);
      }
      sum += At(r_w, h.head, d) * h.key[j][d];
      sum += (h.query[i][d] + At(r_r, h.head, d)) * projected;
      sum += (h.query[i][d] + At(r_s, h.head, d)) * At(same, h.head, d);
    }
    return h.scale * sum;
  };
  return e;
}

}  // namespace

std::vector<NaiveEncoding> NaiveEncodings(int64_t heads, int64_t head_size) {
  std::vector<NaiveEncoding> all = {Named("none"),
                                    Named("sinusoidal"),
                                    Shaw(head_size),
                                    RelativeKeyQuery(head_size),
                                    Bucketed("t5_bias", heads),
                                    Bucketed("mpnet_bias", heads),
                                    Disentangled(heads, head_size),
                                    Rope(head_size),
                                    Xpos(head_size),
                                    Alibi(),
                                    Kerple(heads),
                                    Fire(heads),
                                    Cope(head_size),
                                    Xlnet(heads, head_size)};
  NaiveEncoding learned = Named("learned");
  learned.weights = {{"positional.table", at::randn({64, heads * head_size})}};
  all.push_back(learned);
  return all;
}

}  // namespace heed
