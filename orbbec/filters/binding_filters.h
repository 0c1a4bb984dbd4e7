// Shared by the bindings of filters: outputs of the input's sizes, kernel sizes, borders.
#pragma once

#include "../bridge/host_memory.h"
#include "../bridge/warp.h"

namespace orbbec {

constexpr int64_t kMaxFilterSide = int64_t{1} << 30;  // of an image: margins are added in int
constexpr int64_t kMaxKernelSide = 32767;

inline AnyImages filter_source(const char* op, const Tensor& images,
                               const std::optional<Tensor>& layout, int64_t channels) {
  const AnyImages source = source_images(op, images, layout, channels);
  check(source.height <= kMaxFilterSide && source.width <= kMaxFilterSide, op,
        "expected images with sides of at most ", kMaxFilterSide, " pixels");
  return source;
}

inline Border filter_border(const char* op, const std::string& text) {
  const Border border = parse_border(op, text);
  check(border != Border::kTransparent, op, "border 'transparent' is for warps only");
  return border;
}

// Laid out like the images: variable-size images in a buffer of the same length.
inline Tensor filter_output(const char* op, const Tensor& images,
                            const std::optional<Tensor>& layout, const AnyImages& source,
                            AnyImages& described) {
  if (layout.has_value()) {
    const std::vector<int64_t> length{images.numel()};
    const auto out = take_output(op, length, images.scalar_type(), images);
    if (out.has_value()) check_apart(op, *out, *layout, "layout");
    const Tensor output =
        out.has_value() ? *out : new_tensor(op, length, images.scalar_type(), images);
    described = source;
    described.data = output.mutable_data_ptr();
    return output;
  }
  const Tensor output = new_output(op, images, source, {images.size(2), images.size(3)});
  described = dense_images(op, "out", output, output.mutable_data_ptr());
  return output;
}

enum class Parity { kAny, kOdd };

// (height, width) for all images, or one pair per image.
class FilterSizes {
 public:
  FilterSizes(const char* op, const std::vector<int64_t>& sizes, int64_t images, Parity parity)
      : op_(op), sizes_(sizes) {
    const int64_t count = static_cast<int64_t>(sizes.size());
    check(count == 2 || count == 2 * images, op,
          "expected kernel_size as (height, width) for all or each of ", images,
          " images, but got ", count, " numbers");
    for (int64_t i = 0; i < count; ++i) {
      const bool fits = sizes[i] >= 1 && sizes[i] <= kMaxKernelSide;
      check(fits && (parity == Parity::kAny || sizes[i] % 2 == 1), op, "expected kernel_size of ",
            parity == Parity::kOdd ? "odd " : "", "numbers from 1 to ", kMaxKernelSide,
            ", but got ", sizes[i], count == 2 ? "" : " for image ",
            count == 2 ? "" : std::to_string(i / 2));
    }
  }

  int64_t count() const { return static_cast<int64_t>(sizes_.size()) / 2; }
  int at(size_t i) const { return i < sizes_.size() ? static_cast<int>(sizes_[i]) : 1; }
  int longest() const {
    return sizes_.empty() ? 1 : static_cast<int>(*std::max_element(sizes_.begin(), sizes_.end()));
  }
  int64_t largest_area() const {
    int64_t largest = 1;
    for (size_t i = 0; i + 1 < sizes_.size(); i += 2)
      largest = std::max(largest, sizes_[i] * sizes_[i + 1]);
    return largest;
  }

  // int32 [N, 2] on the device of `like`; empty where all images share one size.
  Tensor sizes_on(const Tensor& like) const {
    const int64_t rows = count() == 1 ? 0 : count();
    Tensor table = new_host_tensor(op_, {rows, 2}, ScalarType::Int, like);
    if (rows == 0) return table;
    std::copy(sizes_.begin(), sizes_.end(), static_cast<int32_t*>(table.mutable_data_ptr()));
    return on_device_of(op_, table, like);
  }

 private:
  const char* op_;
  const std::vector<int64_t>& sizes_;
};

}  // namespace orbbec
