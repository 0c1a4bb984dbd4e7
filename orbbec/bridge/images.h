// Checks image tensors and describes them to kernels as AnyImages.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <limits>

#include "../core/image.h"
#include "device.h"
#include "memory.h"
#include "out_variant.h"

namespace orbbec {

constexpr int64_t kMaxSide = std::numeric_limits<int32_t>::max();

inline DType dtype_of(const char* op, ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return DType::kUInt8;
    case ScalarType::UInt16:
      return DType::kUInt16;
    case ScalarType::Half:
      return DType::kFloat16;
    case ScalarType::BFloat16:
      return DType::kBFloat16;
    case ScalarType::Float:
      return DType::kFloat32;
    case ScalarType::Double:
      return DType::kFloat64;
    default:
      fail(op, "expected images of uint8, uint16, float16, bfloat16, float32 or float64");
  }
}

inline DType dtype_of(const char* op, const Tensor& tensor) {
  return dtype_of(op, tensor.scalar_type());
}

// A dtype as an integer, as schemas pass it: for an unknown ScalarType torch would read past the
// end of its table of names before calling the operator.
inline ScalarType dtype_numbered(const char* op, int64_t number, bool bytes, bool doubles) {
  for (const ScalarType type : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float,
                                ScalarType::Double, ScalarType::Byte}) {
    const bool allowed =
        (type != ScalarType::Byte || bytes) && (type != ScalarType::Double || doubles);
    if (allowed && number == static_cast<int64_t>(type)) return type;
  }
  fail(op, "expected dtype of ", bytes ? "uint8, " : "", "float16, bfloat16",
       doubles ? ", float32 or float64" : " or float32", ", but got torch's dtype number ", number);
}

// One number for all channels, or one per channel.
inline void check_one_or_each(const char* op, const char* name, const std::vector<double>& numbers,
                              int64_t channels) {
  const int64_t count = static_cast<int64_t>(numbers.size()), most = std::max<int64_t>(channels, 1);
  check(count == 1 || count == most, op, "expected ", name, " of ", most == 1 ? "" : "1 or ", most,
        most == 1 ? " number" : " numbers", ", but got ", count);
}

// Between rows or columns; between those of one row or column, any.
inline int64_t near_stride(const char* op, const char* name, const Tensor& images, int64_t dim) {
  const int64_t stride = images.stride(dim);
  if (stride <= Stride::kMax) return stride;
  check(images.size(dim) < 2, op, "expected ", name,
        " with at most 2147483647 elements from a row or column to the next, but got ", stride,
        "; contiguous() copies them");
  return 0;
}

// [N, C, H, W], any strides; with `takes_one` also one image [C, H, W].
inline AnyImages dense_images(const char* op, const char* name, const Tensor& images, void* data,
                              bool takes_one = false) {
  const bool is_one = takes_one && images.dim() == 3;
  check(is_one || images.dim() == 4, op, "expected ", name, " of shape [N, C, H, W], but got ",
        shape_text(images));
  const int64_t c = is_one ? 0 : 1, y = c + 1, x = c + 2;  // dimensions
  check(images.size(y) <= kMaxSide && images.size(x) <= kMaxSide, op, "expected ", name,
        " with sides of at most 2147483647 pixels, but got ", shape_text(images));
  return {.data = data,
          .count = is_one ? 1 : images.size(0),
          .channels = images.size(c),
          .height = static_cast<int>(images.size(y)),
          .width = static_cast<int>(images.size(x)),
          .stride_n = is_one ? 0 : images.stride(0),
          .stride_y = near_stride(op, name, images, y),
          .stride_x = near_stride(op, name, images, x),
          .stride_c = images.stride(c),
          .layout = nullptr,
          .numel = 0,
          .regions = nullptr};
}

// Kernels iterate over the channels of every image, even of one without pixels.
constexpr int64_t kMaxRaggedChannels = 65536;

// A flat uint8 buffer and its table [N, 3] of int64: offset, height, width. The table may be on the
// host while the buffer is not.
inline AnyImages images_of_table(const char* op, const Tensor& buffer, const Tensor& layout,
                                 int64_t channels) {
  check(buffer.dim() == 1 && buffer.is_contiguous() && buffer.scalar_type() == ScalarType::Byte, op,
        "expected a flat contiguous uint8 buffer of variable-size images, but got shape ",
        shape_text(buffer));
  check(layout.dim() == 2 && layout.size(1) == 3 && layout.is_contiguous() &&
            layout.scalar_type() == ScalarType::Long,
        op, "expected layout as contiguous int64 [N, 3], but got shape ", shape_text(layout));
  check(channels >= 1 && channels <= kMaxRaggedChannels, op, "expected from 1 to ",
        kMaxRaggedChannels, " channels, but got ", channels);
  AnyImages images{};
  images.data = const_cast<void*>(buffer.const_data_ptr());
  images.count = layout.size(0);
  images.channels = images.stride_x = channels;
  images.stride_c = 1;
  images.layout = static_cast<const int64_t*>(layout.const_data_ptr());
  images.numel = buffer.numel();
  return images;
}

inline AnyImages ragged_images(const char* op, const Tensor& buffer, const Tensor& layout,
                               int64_t channels) {
  check(same_device(buffer, layout), op, "expected layout on the device of the images");
  return images_of_table(op, buffer, layout, channels);
}

// The numbers of a parameter table of this shape: contiguous, on the device of `images`. T is
// bool, int64_t, float or double.
template <class T>
const T* check_table(const char* op, const char* name, const Tensor& table,
                     std::initializer_list<int64_t> shape, const Tensor& images) {
  constexpr std::pair<ScalarType, const char*> kType =
      std::is_same_v<T, bool>      ? std::pair{ScalarType::Bool, "bool"}
      : std::is_same_v<T, int64_t> ? std::pair{ScalarType::Long, "int64"}
      : std::is_same_v<T, double>  ? std::pair{ScalarType::Double, "float64"}
                                   : std::pair{ScalarType::Float, "float32"};
  check(table.dim() == static_cast<int64_t>(shape.size()) &&
            std::equal(shape.begin(), shape.end(), table.sizes().begin()),
        op, "expected ", name, " of shape ", ShapeText{shape.begin(), shape.end()}, ", but got ",
        shape_text(table));
  check(table.scalar_type() == kType.first && table.is_contiguous(), op, "expected ", name,
        " as contiguous ", kType.second);
  check(same_device(table, images), op, "expected ", name, " on the device of images");
  return static_cast<const T*>(table.const_data_ptr());
}

// int64 [N, 4]: left, top, right, bottom of the visible region of each image; null for the whole
// image.
inline const int64_t* check_regions(const char* op, const std::optional<Tensor>& regions,
                                    const Tensor& images, int64_t count) {
  if (!regions.has_value()) return nullptr;
  return check_table<int64_t>(op, "regions", *regions, {count, 4}, images);
}

inline AnyImages source_images(const char* op, const Tensor& images,
                               const std::optional<Tensor>& layout, int64_t channels,
                               bool takes_one = false) {
  if (layout.has_value()) return ragged_images(op, images, *layout, channels);
  dtype_of(op, images);
  void* const data = const_cast<void*>(images.const_data_ptr());
  return dense_images(op, "images", images, data, takes_one);
}

inline std::array<int64_t, 2> output_size(const char* op, const AnyImages& source,
                                          const std::vector<int64_t>& size) {
  check(size.size() == 2 && size[0] >= 1 && size[1] >= 1 && size[0] <= kMaxSide &&
            size[1] <= kMaxSide,
        op, "expected size as (height, width), each from 1 to 2147483647, but got ",
        shape_text(size));
  check(is_addressable({source.count, source.channels, size[0], size[1]}), op, "an output of ",
        source.count, " images of size ", shape_text(size), " is too large");
  return {size[0], size[1]};
}

inline bool reads_channels_last(const AnyImages& images) {
  return images.layout == nullptr && images.channels > 1 && images.stride_c == 1 &&
         images.stride_x != 1;
}

// The kernel clears new pages one by one on first write: a quarter of the time of a warp to a large
// output with 4 KB pages, little with huge pages.
inline void ask_for_huge_pages(const Tensor& fresh) {
  constexpr uintptr_t kHugePage = 1 << 21;
  if (!fresh.is_cpu()) return;
  const auto data = reinterpret_cast<uintptr_t>(fresh.mutable_data_ptr());
  const uintptr_t first = (data + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (data + fresh.numel() * fresh.element_size()) / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

// The byte range of a tensor's elements.
struct Extent {
  const char *first, *last;
};

inline Extent extent_of(const Tensor& tensor) {
  const char* const data = static_cast<const char*>(tensor.const_data_ptr());
  if (tensor.numel() == 0) return {data, data};
  int64_t reach = 1;
  for (int64_t d = 0; d < tensor.dim(); ++d) reach += (tensor.size(d) - 1) * tensor.stride(d);
  return {data, data + reach * static_cast<int64_t>(tensor.element_size())};
}

inline bool overlaps_itself(const Tensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> strides;  // stride, size
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) > 1) strides.emplace_back(tensor.stride(d), tensor.size(d));
  }
  std::sort(strides.begin(), strides.end());
  int64_t reach = 1;
  for (const auto& [stride, size] : strides) {
    if (stride < reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

inline void check_apart(const char* op, const Tensor& out, const Tensor& other, const char* name) {
  const Extent a = extent_of(out), b = extent_of(other);
  check(a.last <= b.first || b.last <= a.first, op, "expected out that shares no memory with ",
        name);
}

inline void check_output_of(const char* op, const Tensor& out, const std::vector<int64_t>& shape,
                            ScalarType dtype, const Tensor& images) {
  const Shape sizes = out.sizes();
  check(std::equal(shape.begin(), shape.end(), sizes.begin(), sizes.end()), op,
        "expected out of shape ", shape_text(shape), ", but got ", shape_text(out));
  check(out.scalar_type() == dtype, op, "expected out of the dtype of images");
  check(same_device(out, images), op, "expected out on the device of images");
  check(!overlaps_itself(out), op, "expected out whose elements do not share memory");
  check_apart(op, out, images, "images");
}

// The output of an out variant, once.
inline std::optional<Tensor> take_output(const char* op, const std::vector<int64_t>& shape,
                                         ScalarType type, const Tensor& images) {
  const Tensor* const out = std::exchange(output_of_variant, nullptr);
  if (out == nullptr) return std::nullopt;
  check_output_of(op, *out, shape, type, images);
  return *out;
}

// On the device of `like`, and of its dtype if none is given; of an out variant, its output.
inline Tensor new_images(const char* op, const Tensor& like, const std::vector<int64_t>& shape,
                         bool channels_last, std::optional<ScalarType> type = std::nullopt) {
  const ScalarType known = type.value_or(like.scalar_type());
  if (const auto out = take_output(op, shape, known, like)) return *out;
  const Tensor fresh = new_tensor(op, shape, known, like, channels_last);
  ask_for_huge_pages(fresh);
  return fresh;
}

// [N, C, H, W], or [C, H, W] for one image.
inline std::vector<int64_t> output_shape(const Tensor& images, const AnyImages& source,
                                         std::array<int64_t, 2> size) {
  if (images.dim() == 3) return {source.channels, size[0], size[1]};
  return {source.count, source.channels, size[0], size[1]};
}

// Channels last if the images are, so that both are accessed in place.
inline Tensor new_output(const char* op, const Tensor& images, const AnyImages& source,
                         std::array<int64_t, 2> size) {
  return new_images(op, images, output_shape(images, source, size), reads_channels_last(source));
}

inline void check_output(const char* op, const Tensor& images, const Tensor& out,
                         const AnyImages& source, std::array<int64_t, 2> size) {
  check_output_of(op, out, output_shape(images, source, size), images.scalar_type(), images);
}

}  // namespace orbbec
