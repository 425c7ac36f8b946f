// The few things a picture is drawn with, so that only one file talks to cairo and pango.
#pragma once

#include <cairo.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/render/color_scale.h"

namespace heed::cli {

struct TextExtent {
  double width = 0.0;
  double height = 0.0;
};

enum class Align { kStart, kCenter, kEnd };

struct TextStyle {
  double size = 11.0;  // pixels
  bool bold = false;
  // Longer text ends with "…"; 0: unlimited.
  double max_width = 0.0;
};

// Size of one line of `text`, which may hold any bytes.
TextExtent MeasureText(absl::string_view text, const TextStyle& style);

// A white picture, in pixels from the top left. Not thread-safe.
class PngCanvas {
 public:
  // INVALID_ARGUMENT for more than kMaxPngPixels, RESOURCE_EXHAUSTED without memory.
  static absl::StatusOr<PngCanvas> Create(double width, double height);

  void FillRectangle(double x, double y, double width, double height, Rgb color);
  void StrokeRectangle(double x, double y, double width, double height);
  void Line(double x1, double y1, double x2, double y2);

  // One line of `text`, centred on `y`; `align` says which part of it is at `x`.
  void Text(absl::string_view text, double x, double y, Align align, const TextStyle& style);
  // The same, turned to read upwards: centred on `x`, `align` along y (kEnd: ends at the top, y).
  void TextUpwards(absl::string_view text, double x, double y, Align align, const TextStyle& style);

  // `colors`, [rows, columns], stretched over a rectangle with sharp cells, or averaged where there
  // are more cells than pixels.
  void Image(const std::vector<Rgb>& colors, size_t rows, size_t columns, double x, double y,
             double width, double height);

  // The picture as a PNG file at `path`.
  absl::Status Write(const std::string& path) const;

 private:
  struct Free {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  using Surface = std::unique_ptr<cairo_surface_t, Free>;

  PngCanvas() = default;

  Surface surface_;
  std::unique_ptr<cairo_t, Free> context_;
};

}  // namespace heed::cli
