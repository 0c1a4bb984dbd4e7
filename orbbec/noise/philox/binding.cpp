#include "../../bridge/noise.h"
#include "philox.h"

namespace orbbec {

void philox_noise_cpu(const PhiloxNoiseArguments& arguments, const ParallelFor& parallel);
[[gnu::weak]] int philox_noise_cuda(const PhiloxNoiseArguments& arguments, void* stream);

namespace {

constexpr const char* kNoise = "philox_noise";
constexpr const char* kDraws = "philox_draws";
constexpr const char* kBlocks = "philox_blocks";
constexpr int64_t kWords = int64_t{1} << 32;

Tensor philox_blocks(Tensor counters, int64_t key_low, int64_t key_high) {
  check(counters.is_cpu() && counters.dim() == 2 && counters.size(1) == 4 &&
            counters.scalar_type() == ScalarType::Long,
        kBlocks, "expected counters as int64 [K, 4] on the CPU, but got shape ",
        shape_text(counters));
  check(key_low >= 0 && key_low < kWords && key_high >= 0 && key_high < kWords, kBlocks,
        "expected the words of key from 0 to 4294967295, but got ", key_low, " and ", key_high);
  const Tensor input = contiguous(kBlocks, counters);
  const Tensor output = new_tensor(kBlocks, input.sizes(), ScalarType::Long, input);
  const auto* from = static_cast<const int64_t*>(input.const_data_ptr());
  auto* to = static_cast<int64_t*>(output.mutable_data_ptr());
  const PhiloxKey key{static_cast<uint32_t>(key_low), static_cast<uint32_t>(key_high)};
  for (int64_t i = 0; i < input.size(0); ++i) {
    PhiloxBlock counter;
    for (int word = 0; word < 4; ++word)
      counter.words[word] = static_cast<uint32_t>(from[4 * i + word]);
    const PhiloxBlock block = philox(counter, key);
    std::copy_n(block.words, 4, to + 4 * i);
  }
  return output;
}

using Draw = double (*)(PhiloxStream& stream, uint32_t below);

Draw draw_of(const std::string& kind) {
  if (kind == "uniform")
    return [](PhiloxStream& stream, uint32_t) -> double { return stream.uniform(); };
  if (kind == "normal")
    return [](PhiloxStream& stream, uint32_t) -> double { return stream.normal(); };
  return [](PhiloxStream& stream, uint32_t below) -> double { return stream.below(below); };
}

Tensor philox_draws(Tensor sample_ids, int64_t count, Text kind, int64_t below, int64_t seed,
                    int64_t epoch, int64_t position, int64_t positions) {
  check(sample_ids.is_cpu() && sample_ids.dim() == 1, kDraws,
        "expected sample_ids of shape [N] on the CPU, but got ", shape_text(sample_ids));
  check(count >= 0 && count < kWords, kDraws, "expected count from 0 to 4294967295, but got ",
        count);
  check(kind == "uniform" || kind == "normal" || kind == "below", kDraws,
        "expected kind to be one of uniform, normal, below, but got ", kind);
  check(below >= 1 && below < kWords, kDraws, "expected below from 1 to 4294967295, but got ",
        below);
  check(positions >= 1 && positions <= 65536, kDraws,
        "expected transform_count from 1 to 65536, but got ", positions);
  const uint32_t first = checked_position(kDraws, position),
                 last = checked_position(kDraws, position + positions - 1);
  const Tensor samples = whole_numbers_on(kDraws, "sample_ids", sample_ids, sample_ids);
  const int64_t rows = samples.size(0);
  const Tensor output = new_tensor(kDraws, std::vector<int64_t>{positions * rows, count},
                                   ScalarType::Double, samples);
  const auto* ids = static_cast<const int64_t*>(samples.const_data_ptr());
  auto* to = static_cast<double*>(output.mutable_data_ptr());
  const PhiloxKey key = key_of(seed, epoch);
  const Draw draw = draw_of(kind);
  for (uint32_t at = first; at <= last; ++at) {
    for (int64_t n = 0; n < rows; ++n) {
      PhiloxStream stream(key, static_cast<uint64_t>(ids[n]), at);
      for (int64_t i = 0; i < count; ++i) *to++ = draw(stream, static_cast<uint32_t>(below));
    }
  }
  return output;
}

Tensor philox_noise(Tensor sample_ids, int64_t channels, int64_t height, int64_t width, Text kind,
                    int64_t seed, int64_t epoch, int64_t position) {
  const int64_t count = sample_ids.dim() == 1 ? sample_ids.size(0) : -1;
  check(count >= 0, kNoise, "expected sample_ids of shape [N], but got ", shape_text(sample_ids));
  check(channels >= 0 && height >= 0 && width >= 0 && channels <= kMaxSide && height <= kMaxSide &&
            width <= kMaxSide && (channels == 0 || height <= kMaxSide / channels),
        kNoise, "expected at most 2147483647 rows and columns, but got ", channels,
        " channels of size [", height, ", ", width, "]");
  check(count == 0 || channels * height * width <= (int64_t{1} << 59) / count, kNoise,
        "a field of shape [", count, ", ", channels, ", ", height, ", ", width, "] is too large");
  const Tensor samples = whole_numbers_on(kNoise, "sample_ids", sample_ids, sample_ids);
  const Tensor output =
      new_images(kNoise, samples, {count, channels, height, width}, false, ScalarType::Float);
  check(output.is_contiguous(), kNoise, "expected contiguous out");
  const NoiseKey key{key_of(seed, epoch), static_cast<const int64_t*>(samples.const_data_ptr()),
                     checked_position(kNoise, position), parse_noise(kNoise, kind)};
  if (output.numel() == 0) return output;
  const PhiloxNoiseArguments a{.noise = key,
                               .output = static_cast<float*>(output.mutable_data_ptr()),
                               .count = count,
                               .rows = static_cast<int>(channels * height),
                               .width = static_cast<int>(width)};
  run_where(kNoise, samples, philox_noise_cpu, philox_noise_cuda, a);
  return output;
}

}  // namespace
}  // namespace orbbec

STABLE_TORCH_LIBRARY_FRAGMENT(orbbec, m) {
  m.def("philox_blocks(Tensor counters, int key_low, int key_high) -> Tensor");
  m.def(
      "philox_draws(Tensor sample_ids, SymInt count, str kind, SymInt below, SymInt seed, "
      "SymInt epoch, SymInt transform_index, SymInt transform_count=1) -> Tensor");
  orbbec::define_with_out(
      m,
      "philox_noise(Tensor sample_ids, SymInt channels, SymInt height, SymInt width, str kind, "
      "SymInt seed, SymInt epoch, SymInt transform_index) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(orbbec, CPU, m) {
  m.impl("philox_blocks", TORCH_BOX(&orbbec::philox_blocks));
  m.impl("philox_draws", TORCH_BOX(&orbbec::philox_draws));
}

ORBBEC_IMPLEMENT(m) {
  orbbec::implement_with_out<TORCH_BOX(&orbbec::philox_noise)>(m, "philox_noise");
}
