// Where the features of a tf.train.Example are in its bytes. Only messages as every writer makes
// them are taken, each field once and in its place; all others are left to the Python functions,
// which know the whole format and say what is wrong. Included by example.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orbbec::feed {

enum FeatureKind : int64_t { kNoValues, kBytesList, kFloatList, kInt64List };

// A feature. Its one value is `first`, an integer, or the offset of `size` bytes, or of a float, in
// the message. If there are more, `first` is the index of the first in the values of the Example:
// integers, or pairs of offset and size; but floats lie together in the message from `first` on.
struct Feature {
  int64_t name_offset, name_size, kind, count, first, size;
};

class ExampleReader {
 public:
  // Writes at most `max_features` features and `max_values` values.
  ExampleReader(const uint8_t* data, Feature* features, int64_t max_features, int64_t* values,
                int64_t max_values)
      : begin_(data),
        features_(features),
        max_features_(max_features),
        values_(values),
        max_values_(max_values) {}

  // The number of features; -1 for a message that is left to Python, or of more features or values.
  int64_t read(size_t size) {
    Span example{begin_, begin_ + size}, features;
    while (example.at < example.end) {
      if (!take(example, kFirst, features)) return -1;
      for (Span entry; features.at < features.end;) {
        if (!take(features, kFirst, entry) || !read_entry(entry)) return -1;
      }
    }
    return feature_count_;
  }

 private:
  struct Span {
    const uint8_t *at, *end;

    int64_t size() const { return end - at; }
  };

  // Tags of fields 1 to 3 that are bytes, or messages; and of field 1 as a number.
  static constexpr uint64_t kFirst = 10, kSecond = 18, kThird = 26, kFirstNumber = 8;

  static bool take_varint(Span& span, uint64_t& value) {
    value = 0;
    for (int shift = 0; shift <= 63; shift += 7) {
      if (span.at == span.end) return false;
      const uint8_t byte = *span.at++;
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  static bool take_bytes(Span& span, Span& bytes) {
    uint64_t size;
    if (!take_varint(span, size) || size > static_cast<uint64_t>(span.size())) return false;
    bytes = {span.at, span.at + size};
    span.at = bytes.end;
    return true;
  }

  // Takes a field that must have this tag.
  static bool take(Span& span, uint64_t tag, Span& bytes) {
    uint64_t actual;
    return take_varint(span, actual) && actual == tag && take_bytes(span, bytes);
  }

  bool read_entry(Span entry) {
    Span name, value;
    if (!take(entry, kFirst, name) || !take(entry, kSecond, value) || entry.size() != 0) {
      return false;
    }
    if (feature_count_ == max_features_) return false;
    Feature& feature = features_[feature_count_++];
    feature = {name.at - begin_, name.size(), kNoValues, 0, value_count_, 0};
    return value.size() == 0 || read_values(value, feature);
  }

  bool read_values(Span value, Feature& feature) {
    uint64_t tag;
    Span list;
    if (!take_varint(value, tag) || !take_bytes(value, list) || value.size() != 0) return false;
    if (tag == kFirst) return read_bytes(list, feature);
    if (tag == kSecond) return read_floats(list, feature);
    return tag == kThird && read_numbers(list, feature);
  }

  bool read_bytes(Span list, Feature& feature) {
    feature.kind = kBytesList;
    for (Span bytes; list.size() != 0; ++feature.count) {
      if (!take(list, kFirst, bytes) || !add(bytes.at - begin_) || !add(bytes.size())) return false;
    }
    if (feature.count == 1) {
      feature.size = values_[--value_count_];
      feature.first = values_[--value_count_];
    }
    return true;
  }

  bool read_floats(Span list, Feature& feature) {
    Span floats;
    if (!take(list, kFirst, floats) || list.size() != 0) return false;
    if (floats.size() == 0 || floats.size() % 4 != 0) return false;
    feature.kind = kFloatList;
    feature.first = floats.at - begin_;
    feature.count = floats.size() / 4;
    return true;
  }

  // Numbers are packed into bytes, or fields of their own.
  bool read_numbers(Span list, Feature& feature) {
    feature.kind = kInt64List;
    while (list.size() != 0) {
      uint64_t tag, number;
      Span packed{};
      if (!take_varint(list, tag)) return false;
      if (tag == kFirstNumber) {
        if (!take_varint(list, number) || !add(static_cast<int64_t>(number))) return false;
      } else if (tag != kFirst || !take_bytes(list, packed)) {
        return false;
      }
      while (packed.size() != 0) {
        if (!take_varint(packed, number) || !add(static_cast<int64_t>(number))) return false;
      }
    }
    feature.count = value_count_ - feature.first;
    if (feature.count == 1) feature.first = values_[--value_count_];
    return true;
  }

  bool add(int64_t value) {
    if (value_count_ == max_values_) return false;
    values_[value_count_++] = value;
    return true;
  }

  const uint8_t* const begin_;
  Feature* const features_;
  const int64_t max_features_;
  int64_t* const values_;
  const int64_t max_values_;
  int64_t feature_count_ = 0, value_count_ = 0;
};

}  // namespace orbbec::feed
