// Reads a message with random damage, in memory of its exact size: for sanitizers. Prints how many
// messages were read, and how many were left to Python.
#include "orbbec/feed/example.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

int main(int, char** arguments) {
  using orbbec::feed::Feature;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<uint8_t> whole(std::istreambuf_iterator<char>(file), {});
  std::mt19937 random(1);
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> data(whole.begin(),
                              whole.end() - (round % 3 ? 0 : random() % whole.size()));
    for (int changes = random() % 4; changes > 0; --changes) {
      data[random() % data.size()] = static_cast<uint8_t>(random());
    }
    data.shrink_to_fit();
    std::vector<Feature> features(random() % 16);
    std::vector<int64_t> values(random() % 32);
    orbbec::feed::ExampleReader reader(data.data(), features.data(), features.size(), values.data(),
                                       values.size());
    const int64_t count = reader.read(data.size());
    ++(count < 0 ? refused : read);
    for (int64_t i = 0; i < count; ++i) {
      const Feature& feature = features[i];
      if (feature.name_offset + feature.name_size > static_cast<int64_t>(data.size())) return 1;
      const bool is_in_message = feature.kind == orbbec::feed::kFloatList ||
                                 (feature.kind == orbbec::feed::kBytesList && feature.count == 1);
      const int64_t size =
          feature.kind == orbbec::feed::kFloatList ? 4 * feature.count : feature.size;
      if (is_in_message && feature.first + size > static_cast<int64_t>(data.size())) return 1;
    }
  }
  std::printf("%d %d\n", read, refused);
}
