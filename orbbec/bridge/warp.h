// Shared by the bindings of warp_affine, warp_perspective and remap: options by name, fills, the
// launch.
#pragma once

#include "../core/warp.h"
#include "float_images.h"
#include "images.h"

namespace orbbec {

template <class Enum, size_t kCount>
Enum parse(const char* op, const char* what, const std::string& text,
           const std::array<std::pair<const char*, Enum>, kCount>& names) {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  std::string known;
  for (const auto& entry : names) known += (known.empty() ? "" : ", ") + std::string(entry.first);
  fail(op, "expected ", what, " to be one of ", known, ", but got '", text, "'");
}

inline Interpolation parse_interpolation(const char* op, const std::string& text) {
  // A warp has no area to average over: like OpenCV, it treats area as linear.
  static constexpr std::array<std::pair<const char*, Interpolation>, 5> kNames{{
      {"nearest", Interpolation::kNearest},
      {"linear", Interpolation::kLinear},
      {"cubic", Interpolation::kCubic},
      {"area", Interpolation::kLinear},
      {"lanczos4", Interpolation::kLanczos4},
  }};
  return parse(op, "interpolation", text, kNames);
}

inline Border parse_border(const char* op, const std::string& text) {
  static constexpr std::array<std::pair<const char*, Border>, 6> kNames{{
      {"constant", Border::kConstant},
      {"replicate", Border::kReplicate},
      {"reflect", Border::kReflect},
      {"reflect101", Border::kReflect101},
      {"wrap", Border::kWrap},
      {"transparent", Border::kTransparent},
  }};
  return parse(op, "border", text, kNames);
}

inline Arithmetic parse_arithmetic(const char* op, const std::string& text) {
  static constexpr std::array<std::pair<const char*, Arithmetic>, 2> kNames{{
      {"cv2_5", Arithmetic::kCv2_5},
      {"cv2_4", Arithmetic::kCv2_4},
  }};
  return parse(op, "arithmetic", text, kNames);
}

// The options of every warp, named as in the schemas.
struct WarpOptions {
  const std::string& interpolation;
  const std::string& border;
  const std::vector<double>& fill;
  const std::string& arithmetic;
};

inline void check_fixed_point_range(const char* op, const WarpArguments& a) {
  constexpr int kLimit = 32767;  // positions are 16 bits
  if (a.arithmetic != Arithmetic::kCv2_4 && a.interpolation != Interpolation::kLanczos4) return;
  check(a.source.height < kLimit && a.source.width < kLimit && a.output.height < kLimit &&
            a.output.width < kLimit,
        op, "fixed-point arithmetic (cv2_4, and lanczos4) expects sides below 32767 pixels");
}

// Everything but the transform and the output's memory.
inline WarpArguments warp_arguments(const char* op, const Tensor& images, const AnyImages& source,
                                    const WarpOptions& options, std::array<int64_t, 2> size,
                                    bool has_out) {
  WarpArguments a{};
  a.source = source;
  a.dtype = dtype_of(op, images);
  a.interpolation = parse_interpolation(op, options.interpolation);
  a.border = parse_border(op, options.border);
  a.arithmetic = parse_arithmetic(op, options.arithmetic);
  a.output.height = static_cast<int>(size[0]);
  a.output.width = static_cast<int>(size[1]);
  check(a.border != Border::kTransparent || has_out, op,
        "border 'transparent' needs out=, whose pixels it keeps");
  check_one_or_each(op, "fill", options.fill, source.channels);
  check_fixed_point_range(op, a);
  return a;
}

inline ScalarType transform_scalar_type(const WarpArguments& a) {
  return transform_is_double(a.dtype, a.interpolation, a.arithmetic) ? ScalarType::Double
                                                                     : ScalarType::Float;
}

// Calls `run` once for all channels, or once per group of 4 if there are more and each has its own
// fill.
template <class Run>
void for_channel_groups(const WarpArguments& all, const std::vector<double>& fill,
                        int64_t element_size, const Run& run) {
  const bool one_fill =
      fill.size() == 1 ||
      std::all_of(fill.begin(), fill.end(), [&](double value) { return value == fill[0]; });
  if (one_fill || all.source.channels <= kMaxFills) {
    WarpArguments a = all;
    for (int c = 0; c < kMaxFills; ++c) a.fill[c] = fill[std::min<size_t>(c, fill.size() - 1)];
    run(a);
    return;
  }
  for (int64_t first = 0; first < all.source.channels; first += kMaxFills) {
    WarpArguments a = all;
    const int64_t group = std::min<int64_t>(kMaxFills, all.source.channels - first);
    a.source.data = static_cast<char*>(a.source.data) + first * a.source.stride_c * element_size;
    a.output.data = static_cast<char*>(a.output.data) + first * a.output.stride_c * element_size;
    a.source.channels = a.output.channels = group;
    std::copy_n(fill.begin() + first, group, a.fill);
    run(a);
  }
}

// Rounds the fills of half-precision images, which the arguments then have in float32.
inline void round_fills(WarpArguments& a) {
  with_half_type(a.dtype, [&](auto half) {
    for (double& fill : a.fill) fill = load(store<decltype(half)>(fill));
  });
  a.dtype = widened(a.dtype);
}

inline void point_to_floats(FloatImages& floats, WarpArguments& a) {
  floats.read(a.dtype, a.source);
  if (a.border == Border::kTransparent) {
    floats.update(a.dtype, a.output);
  } else {
    floats.write(a.dtype, a.output);
  }
  round_fills(a);
}

// The arguments of a warp, as its schema has them; `rest` points to those that follow.
template <class Transform>
struct WarpCall {
  Tensor images;
  std::optional<Tensor> layout;
  int64_t channels = 0;
  Transform transform;
  std::vector<int64_t> size;
  std::string interpolation, border, arithmetic;
  std::vector<double> fill;
  StableIValue* rest;

  WarpCall(StableIValue* stack, Transform initial) : transform(initial) {
    rest = transform.read(unpack(stack, images, layout, channels));
    rest = transform.read_direction(unpack(rest, size, interpolation, border, fill));
    rest = unpack(rest, arithmetic);
  }
  WarpOptions options() const { return {interpolation, border, fill, arithmetic}; }
};

// One call: checks, the transform (`transform.prepare` points the arguments to it and returns what
// keeps it alive), the output, the launch by `on_cpu(arguments, threads)` or
// `on_cuda(arguments, stream)`. Writes into `out` if given.
template <class Transform, class OnCpu, class OnCuda>
Tensor warp(const char* op, const WarpCall<Transform>& call, const Tensor* out, OnCpu on_cpu,
            OnCuda on_cuda) {
  const Tensor& images = call.images;
  const AnyImages source = source_images(op, images, call.layout, call.channels);
  const std::array<int64_t, 2> extent = output_size(op, source, call.size);
  if (out != nullptr) check_output(op, images, *out, source, extent);
  WarpArguments arguments =
      warp_arguments(op, images, source, call.options(), extent, out != nullptr);
  const auto memory = call.transform.prepare(op, images, arguments);
  for (const Tensor& tensor : memory)
    if (out != nullptr) check_apart(op, *out, tensor, "the coordinate transform");
  const Tensor target = out != nullptr ? *out : new_output(op, images, source, extent);
  if (target.numel() == 0) return target;
  arguments.output = dense_images(op, "out", target, target.mutable_data_ptr());
  for_channel_groups(arguments, call.fill, target.element_size(), [&](const WarpArguments& a) {
    run_where(op, images, in_floats(op, images, on_cpu, point_to_floats), on_cuda, a);
  });
  return target;
}

}  // namespace orbbec
