// Compares shift_hue_in_range with shift_hue; see test_hue.py. Prints how many colors were tried
// and how many differ.
#include "orbbec/core/hue.h"

#include <cstdio>
#include <cstring>
#include <random>

namespace {

struct Counts {
  int64_t tried = 0, wrong = 0;

  void add(const float (&rgb)[3], float shift) {
    float expected[3], actual[3];
    orbbec::shift_hue(rgb, shift, expected);
    orbbec::shift_hue_in_range(rgb, shift, actual);
    ++tried;
    wrong += memcmp(expected, actual, sizeof(actual)) != 0;
  }
};

}  // namespace

int main() {
  Counts counts;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> color(0, 1), shift(-1, 1);
  // Where sectors meet, and where rounding errors could lead into another one.
  const float shifts[] = {0.0f,  -0.0f,    0.5f,      -0.5f, 1.0f,
                          -1.0f, 1 / 6.0f, -1 / 6.0f, 1e-9f, -1e-9f};
  for (float by : shifts) {
    for (int i = 0; i < 1 << 24; i += 97) {
      const float bytes[3] = {(i & 255) / 255.0f, (i >> 8 & 255) / 255.0f, (i >> 16) / 255.0f};
      counts.add(bytes, by);
    }
  }
  for (int i = 0; i < 1 << 21; ++i) {
    float rgb[3] = {color(random), color(random), color(random)};
    if (i % 8 < 3) rgb[i % 8] = rgb[(i + 1) % 8 % 3];  // two are equal
    if (i % 8 == 3) rgb[0] *= 1e-30f, rgb[1] *= 1e-38f, rgb[2] *= 1e-40f;
    if (i % 8 == 4) rgb[0] = 1, rgb[1] *= 1e-7f;
    counts.add(rgb, shift(random));
  }
  printf("%lld %lld\n", static_cast<long long>(counts.tried), static_cast<long long>(counts.wrong));
}
