#include "client/render/png_canvas.h"

#include <pango/pangocairo.h>

#include <cmath>
#include <cstdint>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "client/render/output_file.h"
#include "client/render/png.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr Rgb kInk = {0x22, 0x22, 0x22};
// More of a label would not be seen, and pango takes its time for a megabyte.
constexpr size_t kMaxLabelBytes = 1024;

struct Unref {
  void operator()(PangoLayout* layout) const { g_object_unref(layout); }
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
};
using Layout = std::unique_ptr<PangoLayout, Unref>;

void SetColor(cairo_t* context, Rgb color) {
  cairo_set_source_rgb(context, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
}

Layout MakeLayout(cairo_t* context, absl::string_view text, const TextStyle& style) {
  Layout layout(pango_cairo_create_layout(context));
  const std::unique_ptr<PangoFontDescription, Unref> font(pango_font_description_new());
  pango_font_description_set_family(font.get(), "DejaVu Sans, sans-serif");
  pango_font_description_set_absolute_size(font.get(), style.size * PANGO_SCALE);
  if (style.bold) pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  // Escape() also repairs a character that the cut has split.
  const std::string shown = Escape(text.substr(0, kMaxLabelBytes));
  pango_layout_set_text(layout.get(), shown.data(), static_cast<int>(shown.size()));
  if (style.max_width > 0.0) {
    // A width also aligns: right-to-left text would go to its far end. Only where it must elide.
    int width = 0;
    pango_layout_get_pixel_size(layout.get(), &width, nullptr);
    if (width > style.max_width) {
      pango_layout_set_width(layout.get(), static_cast<int>(style.max_width * PANGO_SCALE));
      pango_layout_set_ellipsize(layout.get(), PANGO_ELLIPSIZE_END);
    }
  }
  return layout;
}

TextExtent ExtentOf(PangoLayout* layout) {
  int width = 0;
  int height = 0;
  pango_layout_get_pixel_size(layout, &width, &height);
  return {static_cast<double>(width), static_cast<double>(height)};
}

double Shift(Align align, double width) {
  return align == Align::kStart ? 0.0 : align == Align::kCenter ? -width / 2.0 : -width;
}

cairo_status_t Append(void* target, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

TextExtent MeasureText(absl::string_view text, const TextStyle& style) {
  const std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> surface(
      cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1), &cairo_surface_destroy);
  const std::unique_ptr<cairo_t, decltype(&cairo_destroy)> context(cairo_create(surface.get()),
                                                                   &cairo_destroy);
  return ExtentOf(MakeLayout(context.get(), text, style).get());
}

absl::StatusOr<PngCanvas> PngCanvas::Create(double width, double height) {
  width = std::ceil(width);
  height = std::ceil(height);
  if (width * height > static_cast<double>(kMaxPngPixels)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture of ", width, " x ", height, " pixels is larger than ",
                     kMaxPngPixels, " pixels: select fewer layers, heads or tokens"));
  }
  PngCanvas canvas;
  canvas.surface_.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width),
                                                   static_cast<int>(height)));
  canvas.context_.reset(cairo_create(canvas.surface_.get()));
  const cairo_status_t status = cairo_status(canvas.context_.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a picture of ", width, " x ",
                                                     height,
                                                     " pixels: ", cairo_status_to_string(status)));
  }
  canvas.FillRectangle(0, 0, width, height, {0xff, 0xff, 0xff});
  cairo_set_line_width(canvas.context_.get(), 1.0);
  return canvas;
}

void PngCanvas::FillRectangle(double x, double y, double width, double height, Rgb color) {
  SetColor(context_.get(), color);
  cairo_rectangle(context_.get(), x, y, width, height);
  cairo_fill(context_.get());
}

void PngCanvas::StrokeRectangle(double x, double y, double width, double height) {
  SetColor(context_.get(), kInk);
  // Half a pixel out, so that the line covers one row of pixels and no cell.
  cairo_rectangle(context_.get(), x - 0.5, y - 0.5, width + 1.0, height + 1.0);
  cairo_stroke(context_.get());
}

void PngCanvas::Line(double x1, double y1, double x2, double y2) {
  SetColor(context_.get(), kInk);
  cairo_move_to(context_.get(), std::floor(x1) + 0.5, std::floor(y1) + 0.5);
  cairo_line_to(context_.get(), std::floor(x2) + 0.5, std::floor(y2) + 0.5);
  cairo_stroke(context_.get());
}

void PngCanvas::Text(absl::string_view text, double x, double y, Align align,
                     const TextStyle& style) {
  const Layout layout = MakeLayout(context_.get(), text, style);
  const TextExtent extent = ExtentOf(layout.get());
  SetColor(context_.get(), kInk);
  cairo_move_to(context_.get(), x + Shift(align, extent.width), y - extent.height / 2.0);
  pango_cairo_show_layout(context_.get(), layout.get());
}

void PngCanvas::TextUpwards(absl::string_view text, double x, double y, Align align,
                            const TextStyle& style) {
  const Layout layout = MakeLayout(context_.get(), text, style);
  const TextExtent extent = ExtentOf(layout.get());
  SetColor(context_.get(), kInk);
  cairo_save(context_.get());
  cairo_translate(context_.get(), x, y);
  cairo_rotate(context_.get(), -std::numbers::pi / 2.0);
  cairo_move_to(context_.get(), Shift(align, extent.width), -extent.height / 2.0);
  pango_cairo_show_layout(context_.get(), layout.get());
  cairo_restore(context_.get());
}

void PngCanvas::Image(const std::vector<Rgb>& colors, size_t rows, size_t columns, double x,
                      double y, double width, double height) {
  const Surface image(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns),
                                                 static_cast<int>(rows)));
  unsigned char* const pixels = cairo_image_surface_get_data(image.get());
  if (pixels == nullptr) return;  // the context keeps the error; Write() tells it
  const auto stride = static_cast<size_t>(cairo_image_surface_get_stride(image.get()));
  for (size_t row = 0; row < rows; ++row) {
    auto* const line = reinterpret_cast<uint32_t*>(pixels + row * stride);
    for (size_t column = 0; column < columns; ++column) {
      const Rgb color = colors[row * columns + column];
      line[column] = static_cast<uint32_t>(color.red) << 16 |
                     static_cast<uint32_t>(color.green) << 8 | color.blue;
    }
  }
  cairo_surface_mark_dirty(image.get());
  cairo_save(context_.get());
  cairo_rectangle(context_.get(), x, y, width, height);
  cairo_clip(context_.get());
  cairo_translate(context_.get(), x, y);
  cairo_scale(context_.get(), width / static_cast<double>(columns),
              height / static_cast<double>(rows));
  cairo_set_source_surface(context_.get(), image.get(), 0, 0);
  const bool shrinks = width < static_cast<double>(columns) || height < static_cast<double>(rows);
  cairo_pattern_set_filter(cairo_get_source(context_.get()),
                           shrinks ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
  cairo_pattern_set_extend(cairo_get_source(context_.get()), CAIRO_EXTEND_PAD);
  cairo_paint(context_.get());
  cairo_restore(context_.get());
}

absl::Status PngCanvas::Write(const std::string& path) const {
  std::string png;
  cairo_status_t status = cairo_status(context_.get());
  if (status == CAIRO_STATUS_SUCCESS) {
    status = cairo_surface_write_to_png_stream(surface_.get(), Append, &png);
  }
  if (status != CAIRO_STATUS_SUCCESS) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot draw \"", path, "\": ", cairo_status_to_string(status)));
  }
  return WriteFile(path, png);
}

}  // namespace heed::cli
