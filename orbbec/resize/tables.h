// The filter coefficients of a resize: where an output pixel reads along each axis, and with which
// weights. A pure function of the image's size, the box, the output's size and the method, computed
// on the device of the images, in double. Included by resize.h.
#pragma once

#include "../core/elementary.h"
#include "../core/image.h"
#include "../core/scalar.h"

namespace orbbec {

enum class ResizeMethod {
  kNearest,
  kNearestExact5,  // a running sum of steps, as in OpenCV 5
  kNearestExact4,  // 16-bit fixed point, as in OpenCV 4
  kLinear,
  kLinearExact,
  kCubic,
  kArea,
  kLanczos4,
  kPillowBox,
  kPillowLinear,
  kPillowHamming,
  kPillowCubic,
  kPillowLanczos,
};

ORBBEC_HD bool is_pillow(ResizeMethod method) { return method >= ResizeMethod::kPillowBox; }
ORBBEC_HD bool is_nearest(ResizeMethod method) { return method <= ResizeMethod::kNearestExact4; }

// The type of the weights of a method: integers of fixed-point sums, else the type of the sums.
enum class WeightType { kInt32, kFloat32, kFloat64 };

inline WeightType weight_type(ResizeMethod method, DType dtype) {
  const bool is_byte = dtype == DType::kUInt8;
  if (is_pillow(method)) return is_byte ? WeightType::kInt32 : WeightType::kFloat64;
  const bool exact = method == ResizeMethod::kLinearExact;
  if (exact && (is_byte || dtype == DType::kUInt16)) return WeightType::kInt32;
  return is_byte && method != ResizeMethod::kArea ? WeightType::kInt32 : WeightType::kFloat32;
}

// How an image is resized, which may differ within a batch.
enum class ResizeForm : int {
  kEmpty,    // no pixels in its box: zeros
  kTwoPass,  // the two passes of the method
  kUp,       // area that enlarges: two taps per axis
  kBlocks,   // area by integer factors: the mean of a block
};

struct ResizePlan {
  ResizeForm form;
  int left, right, top, bottom;  // source pixels that may be read: [left, right) x [top, bottom)
  int block_x, block_y;          // of kBlocks
  bool vertical_first;           // Pillow: the vertical pass runs first
};

// The geometry of a call. Its size is that of the results, or the greatest height and width.
struct ResizeRequest {
  AnyImages source;
  const double* boxes;  // [N, 4] of x0, y0, x1, y1 in pixels; null: the whole image
  int height, width;
  const int64_t* layout;  // [N, 3] of variable-size results; null if all have the size
  ResizeMethod method;
  bool vertical_first_if_tall;  // Pillow 13: the vertical pass runs first where the height shrinks
                                // most
  bool is_byte, is_wide;        // uint8; uint16
  WeightType weight_type;
};

// The coefficients of one image or of each: `width` entries along x, then `height` along y.
struct ResizeCoefficients {
  ResizePlan* plans;
  int *first, *count;
  void* weights;
  int64_t sets;  // 1: all images share one set
  int height, width;
  int64_t taps_x, taps_y;  // most weights of an entry

  ORBBEC_HD int64_t set_of(int64_t n) const { return sets == 1 ? 0 : n; }
  ORBBEC_HD int64_t entry(int64_t n, int i) const {
    return set_of(n) * (static_cast<int64_t>(width) + height) + i;
  }
  ORBBEC_HD int64_t weight(int64_t n, int i) const {
    const int64_t columns = i < width ? i : width, rows = i < width ? 0 : i - width;
    return set_of(n) * (width * taps_x + height * taps_y) + columns * taps_x + rows * taps_y;
  }
};

template <class W>
struct Taps {
  int first, count;
  const W* weights;
};

template <class W>
ORBBEC_HD Taps<W> taps_at(const ResizeCoefficients& t, int64_t n, int i) {
  const int64_t entry = t.entry(n, i);
  return {t.first[entry], t.count[entry], static_cast<const W*>(t.weights) + t.weight(n, i)};
}

// One axis of one image.
struct ResizeAxis {
  int side;           // of the image
  int begin, length;  // of the box in whole pixels
  double low, high;   // of the box
  int out;
  double inverse_scale, scale;  // of the box in whole pixels

  ORBBEC_HD bool is_empty() const { return length < 1 || !(low < high); }
};

ORBBEC_HD ResizeAxis resize_axis(int side, double low, double high, int out, bool fractional) {
  ResizeAxis axis{.side = side,
                  .begin = 0,
                  .length = 0,
                  .low = 0,
                  .high = 0,
                  .out = out,
                  .inverse_scale = 0,
                  .scale = 0};
  if (!(low < high)) return axis;
  const double first = fractional ? static_cast<double>(static_cast<float>(low)) : rint(low);
  const double last = fractional ? static_cast<double>(static_cast<float>(high)) : rint(high);
  axis.low = first < 0 ? 0 : first > side ? side : first;
  axis.high = last < 0 ? 0 : last > side ? side : last;
  axis.begin = static_cast<int>(axis.low);
  axis.length = static_cast<int>(ceil(axis.high)) - axis.begin;
  axis.inverse_scale = static_cast<double>(out) / axis.length;
  axis.scale = 1.0 / axis.inverse_scale;
  return axis;
}

// Pillow's filters: their support, and their value at x.
ORBBEC_HD double pillow_support(ResizeMethod method) {
  switch (method) {
    case ResizeMethod::kPillowBox:
      return 0.5;
    case ResizeMethod::kPillowCubic:
      return 2;
    case ResizeMethod::kPillowLanczos:
      return 3;
    default:
      return 1;
  }
}

ORBBEC_HD double normalized_sine(double x) {
  if (x == 0) return 1;
  double sine, cosine;
  sine_cosine(x * M_PI, sine, cosine);
  return sine / (x * M_PI);
}

ORBBEC_HD double pillow_filter(ResizeMethod method, double x) {
  if (method == ResizeMethod::kPillowBox) return x > -0.5 && x <= 0.5 ? 1 : 0;
  if (method == ResizeMethod::kPillowLanczos)
    return x >= -3 && x < 3 ? normalized_sine(x) * normalized_sine(x / 3) : 0;
  x = x < 0 ? -x : x;
  if (method == ResizeMethod::kPillowLinear) return x < 1 ? 1 - x : 0;
  if (method == ResizeMethod::kPillowCubic) {
    constexpr double kA = -0.5;
    if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
  }
  if (x == 0) return 1;
  if (x >= 1) return 0;
  double sine, cosine;
  x *= M_PI;
  sine_cosine(x, sine, cosine);
  return sine / x * (static_cast<double>(0.54f) + static_cast<double>(0.46f) * cosine);
}

ORBBEC_HD void cubic_weights(float x, float (&w)[8]) {
  constexpr float kA = -0.75f;
  w[0] = ((kA * (x + 1) - 5 * kA) * (x + 1) + 8 * kA) * (x + 1) - 4 * kA;
  w[1] = ((kA + 2) * x - (kA + 3)) * x * x + 1;
  w[2] = ((kA + 2) * (1 - x) - (kA + 3)) * (1 - x) * (1 - x) + 1;
  w[3] = 1.0f - w[0] - w[1] - w[2];
}

// sin(a) and cos(a), rotated by multiples of 45 degrees, give the sines of all eight taps.
ORBBEC_HD void lanczos4_weights(float x, float (&w)[8]) {
  constexpr double kS = 0.70710678118654752440084436210485;
  constexpr double kSines[8] = {1, -kS, 0, kS, -1, kS, 0, -kS};
  constexpr double kCosines[8] = {0, -kS, 1, -kS, 0, kS, -1, kS};
  double sine, cosine;
  sine_cosine(-(x + 3) * M_PI * 0.25, sine, cosine);
  float sum = 0;
  for (int i = 0; i < 8; ++i) {
    const float t = x + 3 - i;
    if (fabsf(t) >= 1e-6f) {
      const double y = -t * M_PI * 0.25;
      w[i] = static_cast<float>((kSines[i] * sine + kCosines[i] * cosine) / (y * y));
    } else {
      w[i] = 1e30f;
    }
    sum += w[i];
  }
  sum = 1.0f / sum;
  for (int i = 0; i < 8; ++i) w[i] *= sum;
}

// Computes the entries of one image; an item is an entry.
struct FillResizeCoefficients {
  ResizeRequest request;
  ResizeCoefficients coefficients;
  Images<const uint8_t> images;  // only for their sizes

  FillResizeCoefficients(const ResizeRequest& r, const ResizeCoefficients& t)
      : request(r), coefficients(t), images(r.source) {}

  // OpenCV 5's nearest_exact accumulates steps, so an item is a whole axis.
  ORBBEC_HD static int64_t items(const ResizeRequest& r) {
    return r.method == ResizeMethod::kNearestExact5 ? 2 : static_cast<int64_t>(r.width) + r.height;
  }

  struct Geometry {
    ResizeAxis x, y;
    ResizePlan plan;
  };

  ORBBEC_HD void operator()(int64_t n, int i) const { fill_item(geometry(n), n, i); }

  ORBBEC_HD Geometry geometry(int64_t n) const {
    const Image<const uint8_t> image = images[n];
    const bool fractional = is_pillow(request.method);
    const double* box = request.boxes == nullptr ? nullptr : request.boxes + 4 * n;
    const auto side = [&](int most, int column) {
      if (request.layout == nullptr) return most;
      const int64_t length = request.layout[3 * n + column];
      return length < 1 ? 1 : length < most ? static_cast<int>(length) : most;
    };
    const ResizeAxis x =
        resize_axis(image.width, box == nullptr ? 0 : box[0], box == nullptr ? image.width : box[2],
                    side(request.width, 2), fractional);
    const ResizeAxis y =
        resize_axis(image.height, box == nullptr ? 0 : box[1],
                    box == nullptr ? image.height : box[3], side(request.height, 1), fractional);
    return {x, y, plan_of(x, y)};
  }

  ORBBEC_HD void fill_item(const Geometry& of, int64_t n, int i) const {
    if (i == 0) coefficients.plans[n] = of.plan;
    if (of.plan.form == ResizeForm::kEmpty) return;
    if (request.method == ResizeMethod::kNearestExact5) {
      nearest_exact_axis(n, i == 0 ? 0 : request.width, i == 0 ? of.x : of.y);
    } else {
      const bool is_x = i < request.width;
      ResizeAxis axis = of.x, other = of.y;
      if (!is_x) axis = of.y, other = of.x;  // as values, which stay in registers
      fill(n, i, is_x ? i : i - request.width, axis, of.plan, other, is_x);
    }
  }

 private:
  ORBBEC_HD static bool is_whole(double scale) {
    const double rounded = rint(scale);
    const double apart = scale - rounded;
    return apart < 2.220446049250313e-16 && apart > -2.220446049250313e-16;
  }

  ORBBEC_HD ResizePlan plan_of(const ResizeAxis& x, const ResizeAxis& y) const {
    ResizePlan plan{};
    if (x.is_empty() || y.is_empty()) return plan;
    plan.form = ResizeForm::kTwoPass;
    plan.left = x.begin;
    plan.right = x.begin + x.length;
    plan.top = y.begin;
    plan.bottom = y.begin + y.length;
    if (is_pillow(request.method)) {  // reads outside its box
      plan.left = plan.top = 0;
      plan.right = x.side;
      plan.bottom = y.side;
      const int64_t shrinks_x = static_cast<int64_t>(x.side) - x.out;
      const int64_t shrinks_y = static_cast<int64_t>(y.side) - y.out;
      plan.vertical_first =
          request.vertical_first_if_tall && shrinks_y > 0 && shrinks_y > 2 * shrinks_x;
      return plan;
    }
    const double scale_x = x.scale, scale_y = y.scale;
    const bool whole = is_whole(scale_x) && is_whole(scale_y);
    plan.block_x = round_to_int(scale_x);
    plan.block_y = round_to_int(scale_y);
    const bool halves = whole && plan.block_x == 2 && plan.block_y == 2;
    const bool exact = request.method == ResizeMethod::kLinearExact;
    const bool of_integers = request.is_byte || request.is_wide;
    if (request.method == ResizeMethod::kArea) {
      const bool shrinks = scale_x >= 1 && scale_y >= 1;
      plan.form = !shrinks ? ResizeForm::kUp : whole ? ResizeForm::kBlocks : ResizeForm::kTwoPass;
    } else if (halves && (request.method == ResizeMethod::kLinear ||
                          (exact && !(of_integers && request.source.channels == 2)))) {
      plan.form = ResizeForm::kBlocks;
    }
    return plan;
  }

  ORBBEC_HD void set(int64_t n, int i, int first, int count) const {
    const int64_t entry = coefficients.entry(n, i),
                  capacity = i < coefficients.width ? coefficients.taps_x : coefficients.taps_y;
    coefficients.first[entry] = first;
    coefficients.count[entry] = count < capacity ? count : static_cast<int>(capacity);
  }

  // Drops taps beyond the capacity: the given size was too small.
  ORBBEC_HD void put(int64_t n, int i, int tap, double weight) const {
    if (tap >= (i < coefficients.width ? coefficients.taps_x : coefficients.taps_y)) return;
    const int64_t at = coefficients.weight(n, i) + tap;
    switch (request.weight_type) {
      case WeightType::kInt32:
        static_cast<int32_t*>(coefficients.weights)[at] = static_cast<int32_t>(weight);
        break;
      case WeightType::kFloat32:
        static_cast<float*>(coefficients.weights)[at] = static_cast<float>(weight);
        break;
      case WeightType::kFloat64:
        static_cast<double*>(coefficients.weights)[at] = weight;
    }
  }

  ORBBEC_HD void fill(int64_t n, int i, int d, const ResizeAxis& axis, const ResizePlan& plan,
                      const ResizeAxis& other, bool is_x) const {
    if (d >= axis.out) return;
    switch (request.method) {
      case ResizeMethod::kNearest: {
        const int at = floor_to_int(d * (1.0 / axis.inverse_scale));
        return nearest(n, i, axis.begin + clamp_int(at, 0, axis.length - 1));
      }
      case ResizeMethod::kNearestExact4: {
        const int64_t step = ((static_cast<int64_t>(axis.length) << 16) + axis.out / 2) / axis.out;
        const int64_t at = (step * d + step / 2 - axis.length % 2) >> 16;
        const int64_t last = axis.length - 1;
        return nearest(n, i, axis.begin + static_cast<int>(at < 0 ? 0 : at < last ? at : last));
      }
      case ResizeMethod::kNearestExact5:
        return;
      case ResizeMethod::kLinearExact:
        if (request.is_byte || request.is_wide) return linear_exact(n, i, d, axis);
        break;
      case ResizeMethod::kArea:
        if (plan.form != ResizeForm::kUp) return area(n, i, d, axis);
        break;
      case ResizeMethod::kLinear:
      case ResizeMethod::kCubic:
      case ResizeMethod::kLanczos4:
        break;
      default:
        return pillow(n, i, d, axis);
    }
    few_taps(n, i, d, axis, plan, other, is_x);
  }

  ORBBEC_HD void nearest(int64_t n, int i, int at) const {
    put(n, i, 0, 1);
    set(n, i, at, 1);
  }

  ORBBEC_HD void nearest_exact_axis(int64_t n, int i, const ResizeAxis& axis) const {
    const double step = static_cast<double>(axis.length) / axis.out;
    double at = step * 0.5;
    for (int d = 0; d < axis.out; ++d) {
      nearest(n, i + d, axis.begin + clamp_int(floor_to_int(at), 0, axis.length - 1));
      at += step;
    }
  }

  ORBBEC_HD void linear_exact(int64_t n, int i, int d, const ResizeAxis& axis) const {
    const double one = request.is_byte ? 256 : 65536;
    const double at = axis.scale * (static_cast<double>(d) + 0.5) - 0.5;
    const int left = floor_to_int(at);
    put(n, i, 0, one);
    put(n, i, 1, 0);
    if (left < 0 || axis.length <= 1) return set(n, i, axis.begin, 1);
    if (left >= axis.length - 1) return set(n, i, axis.begin + axis.length - 1, 1);
    const double right_weight = rint((at - left) * one);
    put(n, i, 0, one - right_weight);
    put(n, i, 1, right_weight);
    set(n, i, axis.begin + left, 2);
  }

  // Linear, cubic, lanczos4, and area that enlarges.
  ORBBEC_HD void few_taps(int64_t n, int i, int d, const ResizeAxis& axis, const ResizePlan& plan,
                          const ResizeAxis& other, bool is_x) const {
    const double scale = axis.scale;
    if (axis.out == axis.length && other.out == other.length) {
      put(n, i, 0, weight(1.0f));
      put(n, i, 1, weight(0.0f));
      return set(n, i, axis.begin + d, 1);
    }
    float fraction;
    int at;
    if (plan.form == ResizeForm::kUp) {
      at = floor_to_int(d * scale);
      fraction = static_cast<float>((d + 1) - (at + 1) * axis.inverse_scale);
      fraction = fraction <= 0 ? 0.0f : fraction - static_cast<float>(floor_to_int(fraction));
    } else {
      fraction = static_cast<float>((d + 0.5) * scale - 0.5);
      at = floor_to_int(fraction);
      fraction -= static_cast<float>(at);
    }
    float w[8];
    int taps = 2, before = 0;
    if (request.method == ResizeMethod::kCubic) {
      cubic_weights(fraction, w);
      taps = 4;
      before = 1;
    } else if (request.method == ResizeMethod::kLanczos4) {
      lanczos4_weights(fraction, w);
      taps = 8;
      before = 3;
    } else {
      if (is_x && at < 0) at = 0, fraction = 0;
      const bool at_end = is_x && at >= axis.length - 1;
      if (at_end) at = axis.length - 1, fraction = 0;
      w[0] = 1.0f - fraction;
      w[1] = fraction;
      for (int k = 0; k < 2; ++k) put(n, i, k, weight(w[k]));
      return set(n, i, axis.begin + at, at_end ? 1 : 2);
    }
    for (int k = 0; k < taps; ++k) put(n, i, k, weight(w[k]));
    set(n, i, axis.begin + at - before, taps);
  }

  // 11 bits where uint8 is summed in integers. Area's weights are floats, which also hold integers.
  ORBBEC_HD double weight(float w) const {
    return request.is_byte ? saturate_int16(round_to_int(w * 2048)) : w;
  }

  ORBBEC_HD void area(int64_t n, int i, int d, const ResizeAxis& axis) const {
    constexpr double kMin = 1e-3;  // smaller fractions of a pixel do not count
    const double scale = axis.scale, begin = d * scale, end = begin + scale;
    const double rest = axis.length - begin, width = scale < rest ? scale : rest;
    int first = static_cast<int>(ceil(begin)), last = static_cast<int>(floor(end));
    last = last < axis.length - 1 ? last : axis.length - 1;
    first = first < last ? first : last;
    int count = 0, at = first;
    if (first - begin > kMin) {
      at = first - 1;
      put(n, i, count++, static_cast<float>((first - begin) / width));
    }
    for (int s = first; s < last; ++s) put(n, i, count++, static_cast<float>(1.0 / width));
    if (end - last > kMin) {
      const double overlap = end - last < 1 ? end - last : 1;
      put(n, i, count++, static_cast<float>((overlap < width ? overlap : width) / width));
    }
    set(n, i, axis.begin + at, count);
  }

  ORBBEC_HD double pillow_weight(double w) const {
    if (request.weight_type == WeightType::kFloat64) return w;
    return w < 0 ? w * (1 << 22) - 0.5 : w * (1 << 22) + 0.5;  // put() drops the fraction
  }

  ORBBEC_HD void pillow(int64_t n, int i, int d, const ResizeAxis& axis) const {
    if (axis.out == axis.side && axis.low == 0 && axis.high == axis.side) {
      put(n, i, 0, pillow_weight(1));
      return set(n, i, d, 1);
    }
    const double scale =
        static_cast<double>(static_cast<float>(axis.high) - static_cast<float>(axis.low)) /
        axis.out;
    const double stretch = scale < 1 ? 1 : scale, reach = pillow_support(request.method) * stretch;
    const double per_pixel = 1.0 / stretch, center = axis.low + (d + 0.5) * scale;
    const double low = center - reach + 0.5, high = center + reach + 0.5;
    const int first = low < 0 ? 0 : static_cast<int>(low);
    const int end = high < axis.side ? static_cast<int>(high) : axis.side;
    const auto filter = [&](int s) {
      return pillow_filter(request.method, (s - center + 0.5) * per_pixel);
    };
    constexpr int kCached = 16;  // most filters are computed once
    double sum = 0, cached[kCached];
    ORBBEC_ROLLED
    for (int s = first; s < end; ++s) {
      const double w = filter(s);
      if (s - first < kCached) cached[s - first] = w;
      sum += w;
    }
    ORBBEC_ROLLED
    for (int s = first; s < end; ++s) {
      const double w = s - first < kCached ? cached[s - first] : filter(s);
      put(n, i, s - first, pillow_weight(sum != 0 ? w / sum : w));
    }
    set(n, i, first, end - first);
  }
};

}  // namespace orbbec
