#include "../../bridge/images.h"
#include "statistics.h"

namespace orbbec {

void moments_cpu(const Moments& moments, int64_t count, const ParallelFor& parallel);
[[gnu::weak]] int moments_cuda(const Moments& moments, int64_t count, void* stream);

namespace {

constexpr const char* kOp = "channel_statistics";

// Sets what the moments are computed from, and the number of channels.
void set_totals(const Tensor& totals, Moments& moments) {
  const bool are_sums = totals.scalar_type() == ScalarType::Double && totals.dim() == 2;
  const bool are_counts = totals.scalar_type() == ScalarType::Long && totals.dim() == 3 &&
                          totals.size(2) == Moments::kLevels;
  check(
      (are_sums || are_counts) && totals.is_contiguous(), kOp,
      "expected sums as float64 [N, 2 C] or histograms as int64 [N, C, 256], contiguous, but got ",
      shape_text(totals));
  moments.channels = are_sums ? totals.size(1) / 2 : totals.size(1);
  check(moments.channels <= kMaxSide, kOp, "expected fewer channels, but got ", moments.channels);
  if (are_sums) {
    moments.sums = static_cast<const double*>(totals.const_data_ptr());
  } else {
    moments.histograms = static_cast<const int64_t*>(totals.const_data_ptr());
  }
}

// float64 [2, N, C]: means and standard deviations.
Tensor channel_moments(Tensor totals, std::optional<Tensor> layout, int64_t pixels) {
  Moments moments{};
  set_totals(totals, moments);
  const int64_t count = totals.size(0), all = count * moments.channels;
  if (layout.has_value())
    moments.layout = check_table<int64_t>(kOp, "layout", *layout, {count, 3}, totals);
  moments.pixels = static_cast<double>(pixels);
  const Tensor result =
      new_tensor(kOp, std::vector<int64_t>{2, count, moments.channels}, ScalarType::Double, totals);
  if (all == 0) return result;
  moments.means = static_cast<double*>(result.mutable_data_ptr());
  moments.deviations = moments.means + all;
  run_where(kOp, totals, moments_cpu, moments_cuda, moments, count);
  return result;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("channel_moments(Tensor totals, Tensor? layout, int pixels) -> Tensor");
}

ORBBEC_IMPLEMENT(m) { m.impl("channel_moments", TORCH_BOX(&orbbec::channel_moments)); }
