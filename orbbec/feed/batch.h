// A batch: its rows, and the two phases of work on them. Included by pool.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "work.h"

namespace orbbec::feed {

enum Phase { kReading, kDecoding };

class Batch {
 public:
  Batch(const Functions& functions, const Request& request)
      : functions_(functions),
        limits_{request.applies_orientation != 0, request.channels, request.max_pixels,
                request.packs_scans != 0},
        is_in_memory_(request.paths == nullptr),
        rows_(static_cast<size_t>(request.count)),
        encoded_(rows_.size()) {
    const char* path = request.paths;
    for (size_t row = 0; row < rows_.size(); ++row) {
      const int64_t* const span = request.spans == nullptr ? nullptr : request.spans + 3 * row;
      spans_.push_back(span == nullptr ? Span{0, -1, -1} : Span{span[0], span[1], span[2]});
      if (is_in_memory_) continue;
      first_of_path_.push_back(paths_.size());
      paths_.insert(paths_.end(), path, path + std::strlen(path) + 1);
      path += std::strlen(path) + 1;
    }
    begin(kReading);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    for (const Encoded& encoded : encoded_) {
      if (encoded.data != nullptr) shared_blocks.give(encoded.data, encoded.size);
    }
  }

  const Row* rows() const { return rows_.data(); }
  // Seconds of all threads, by phase.
  const double* seconds() const { return seconds_; }

  void begin_decoding(const Output& output) {
    const size_t count = rows_.size();
    output_ = output;
    offsets_.assign(output.offsets, output.offsets + count);
    if (output.boxes != nullptr) boxes_.assign(output.boxes, output.boxes + 4 * count);
    if (output.shrinks != nullptr) shrinks_.assign(output.shrinks, output.shrinks + count);
    begin(kDecoding);
  }

  // The following are called with the pool's lock.
  Phase phase() const { return phase_; }
  bool has_pending() const { return next_ < order_.size(); }
  bool is_done() const { return !has_pending() && running_ == 0; }
  int take() {
    ++running_;
    return order_[next_++];
  }
  void give_back(double seconds) {
    seconds_[phase_] += seconds;
    --running_;
  }
  void cancel() { next_ = order_.size(); }

  // The work on a row of `take`, without the lock. Returns the seconds it took.
  double work(int row) {
    const auto began = std::chrono::steady_clock::now();
    phase_ == kReading ? read(row) : decode(row);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

 private:
  // Large files first, so that no thread begins one when the others are done.
  void begin(Phase phase) {
    phase_ = phase;
    next_ = 0;
    order_.clear();
    for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
      const bool is_left_out =
          phase == kDecoding && (rows_[row].status != kGood || offsets_[row] < 0);
      if (!is_left_out) order_.push_back(row);
    }
    if (phase == kReading) return;
    std::stable_sort(order_.begin(), order_.end(),
                     [this](int a, int b) { return rows_[a].size > rows_[b].size; });
  }

  void read(int index) {
    Row& row = rows_[index];
    const Span& span = spans_[index];
    if (is_in_memory_) {
      row.data = reinterpret_cast<const uint8_t*>(span.offset);
      row.size = static_cast<uint64_t>(span.bytes);
    } else {
      Encoded& encoded = encoded_[index];
      row.status = kUnread;
      if (!read_span(paths_.data() + first_of_path_[index], span, encoded)) return;
      row.data = encoded.data;
      row.size = encoded.size;
    }
    row.status = limits_.channels < 0 ? kGood : examine(functions_, limits_, row);
  }

  void decode(int index) {
    Row& row = rows_[index];
    uint8_t* const out = output_.storage + offsets_[index];
    const bool packs = output_.channels == kScans;
    if (packs && row.scan_bytes > 0) {
      row.scan_bytes = functions_.pack_scan(row.data, row.size, out);
      return;
    }
    row.status = feed::decode(functions_, row,
                              {.out = out,
                               .box = boxes_.empty() ? nullptr : boxes_.data() + 4 * index,
                               .shrink = shrinks_.empty() ? 1 : static_cast<int>(shrinks_[index]),
                               .channels = packs ? 0 : output_.channels});
  }

  const Functions& functions_;
  const Limits limits_;
  const bool is_in_memory_;
  std::vector<Row> rows_;
  std::vector<Encoded> encoded_;
  std::vector<Span> spans_;
  std::vector<char> paths_;
  std::vector<size_t> first_of_path_;
  Output output_{};
  std::vector<int64_t> offsets_, boxes_, shrinks_;
  Phase phase_ = kReading;
  std::vector<int> order_;  // rows of this phase
  size_t next_ = 0;         // in order_
  int running_ = 0;         // rows that a thread works on
  double seconds_[2] = {};
};

}  // namespace orbbec::feed
