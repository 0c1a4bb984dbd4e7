// `read_boxes`, `write_boxes`: convert the boxes of targets from their format and back, in place.
#include "binding_boxes.h"

namespace orbbec {
namespace {

// Boxes of some images in a format.
struct FormattedBoxes {
  BoxFormat format;
  double* rows;
  const int64_t* sides;  // of the images
  const std::vector<int64_t>& counts;

  FormattedBoxes(const char* op, const Tensor& boxes, const std::vector<int64_t>& counts,
                 const std::string& box_format, const Tensor& sizes)
      : format(parse_box_format(op, box_format)), counts(counts) {
    check(boxes.is_cpu() && boxes.dim() == 2, op, "expected boxes [K, ", format.numbers,
          "] on the CPU, but got shape ", shape_text(boxes));
    const auto images = static_cast<int64_t>(counts.size());
    rows = const_cast<double*>(
        check_table<double>(op, "boxes", boxes, {boxes.size(0), format.numbers}, boxes));
    sides = check_table<int64_t>(op, "sizes", sizes, {images, 2}, boxes);
    check_counts(op, "boxes", counts, images, boxes.size(0));
  }

  // Convert the boxes of an upright format.
  template <class Convert>
  void convert(const Convert& rule) const {
    if (!format.is_upright()) return;
    auto* box = reinterpret_cast<Box*>(rows);
    for (size_t n = 0; n < counts.size(); ++n)
      for (int64_t k = 0; k < counts[n]; ++k, ++box)
        *box = rule(*box, format, static_cast<double>(sides[2 * n]),
                    static_cast<double>(sides[2 * n + 1]));
  }
};

void read_boxes(Tensor boxes, std::vector<int64_t> counts, std::vector<int64_t> indices,
                Text box_format, Tensor sizes) {
  constexpr const char* kOp = "read_boxes";
  const FormattedBoxes every(kOp, boxes, counts, box_format, sizes);
  check(indices.size() == counts.size(), kOp, "expected indices of ", counts.size(),
        " images, but got ", indices.size());
  check_boxes(every.rows, every.format, box_format, counts, indices);
  every.convert(edges_of);
}

void write_boxes(Tensor boxes, std::vector<int64_t> counts, Text box_format, Tensor sizes) {
  FormattedBoxes("write_boxes", boxes, counts, box_format, sizes).convert(in_format);
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def(
      "read_boxes(Tensor(a!) boxes, int[] counts, int[] indices, str box_format, Tensor sizes) -> "
      "()");
  m.def("write_boxes(Tensor(a!) boxes, int[] counts, str box_format, Tensor sizes) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("read_boxes", TORCH_BOX(&orbbec::read_boxes));
  m.impl("write_boxes", TORCH_BOX(&orbbec::write_boxes));
}
