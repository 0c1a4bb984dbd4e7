// Medians of 3 x 3 and 5 x 5 windows that slide down a column: rows are sorted once, and two
// windows below each other share what they have in common. Included by median_cuda.cu.
#pragma once

#include "median.h"

namespace orbbec {

// Compare-exchanges in order, of numbers or vectors of numbers.
template <int kCount, class V, int kValues>
ORBBEC_HD void exchange(const signed char (&pairs)[kCount][2], V (&values)[kValues]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) sort_two(values[pairs[i][0]], values[pairs[i][1]]);
}

template <class V>
ORBBEC_HD void sort_row(V (&row)[3]) {
  constexpr signed char kPairs[][2] = {{0, 1}, {1, 2}, {0, 1}};
  exchange(kPairs, row);
}
template <class V>
ORBBEC_HD void sort_row(V (&row)[5]) {
  constexpr signed char kPairs[][2] = {{0, 3}, {1, 4}, {0, 2}, {1, 3}, {0, 1},
                                       {2, 4}, {1, 2}, {3, 4}, {2, 3}};
  exchange(kPairs, row);
}

template <class V>
ORBBEC_HD V lower(V a, V b) {
  sort_two(a, b);
  return a;
}
template <class V>
ORBBEC_HD V higher(V a, V b) {
  sort_two(a, b);
  return b;
}

// `start(load_row)` takes the first rows of a column; `next` two more, and gives the medians of the
// two windows that end there.
template <class V, int kSide>
struct SlidingMedian;

template <class V>
struct SlidingMedian<V, 3> {
  static constexpr int kSide = 3;
  V rows[2][3];  // sorted, the last two

  template <class LoadRow>
  ORBBEC_HD void start(const LoadRow& load_row) {
    for (int i = 0; i < 2; ++i) load_row(rows[i]), sort_row(rows[i]);
  }

  // The median of nine is that of the greatest minimum, the middle of the middles and the least
  // maximum of sorted rows.
  ORBBEC_HD void next(V (&first)[3], V (&second)[3], V& upper, V& below) {
    sort_row(first), sort_row(second);
    const V least = higher(rows[1][0], first[0]), most = lower(rows[1][2], first[2]);
    V low = rows[1][1], high = first[1];
    sort_two(low, high);
    const auto median = [&](const V(&outer)[3]) {
      V values[3] = {higher(least, outer[0]), higher(low, lower(outer[1], high)),
                     lower(most, outer[2])};
      sort_row(values);
      return values[1];
    };
    upper = median(rows[0]);
    below = median(second);
#pragma unroll
    for (int i = 0; i < 3; ++i) rows[0][i] = first[i], rows[1][i] = second[i];
  }
};

// Medians of 3 x 3 windows of kOutputs neighboring columns that slide down together: columns are
// sorted, and neighbors share what they have in common, as do two windows below each other.
template <class V>
struct StripMedian {
  static constexpr int kOutputs = 4, kColumns = kOutputs + 2;
  V rows[2][kColumns];  // the last two

  template <class LoadRow>
  ORBBEC_HD void start(const LoadRow& load_row) {
    for (int i = 0; i < 2; ++i) load_row(rows[i]);
  }

  ORBBEC_HD void next(const V (&first)[kColumns], const V (&second)[kColumns], V (&upper)[kOutputs],
                      V (&below)[kOutputs]) {
    V above_columns[3][kColumns], below_columns[3][kColumns];
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      V low = rows[1][i], high = first[i];
      sort_two(low, high);
      insert(low, high, rows[0][i], i, above_columns);
      insert(low, high, second[i], i, below_columns);
      rows[0][i] = first[i], rows[1][i] = second[i];
    }
    medians(above_columns, upper);
    medians(below_columns, below);
  }

 private:
  // A sorted column of two and one more.
  ORBBEC_HD static void insert(V low, V high, V value, int i, V (&columns)[3][kColumns]) {
    V rest = value;
    sort_two(low, rest);
    sort_two(rest, high);
    columns[0][i] = low, columns[1][i] = rest, columns[2][i] = high;
  }

  // As of SlidingMedian, with columns for rows. Two outputs share the two columns between them.
  ORBBEC_HD static void medians(const V (&columns)[3][kColumns], V (&result)[kOutputs]) {
#pragma unroll
    for (int i = 0; i < kOutputs; i += 2) {
      const V least = higher(columns[0][i + 1], columns[0][i + 2]);
      const V most = lower(columns[2][i + 1], columns[2][i + 2]);
      V low = columns[1][i + 1], high = columns[1][i + 2];
      sort_two(low, high);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int outer = i + 3 * k;
        V values[3] = {higher(least, columns[0][outer]),
                       higher(low, lower(columns[1][outer], high)), lower(most, columns[2][outer])};
        sort_row(values);
        result[i + k] = values[1];
      }
    }
  }
};

// Four rows are common to two windows. Of their 20 values, the 8th to 13th can be the median.
template <class V>
struct SlidingMedian<V, 5> {
  static constexpr int kSide = 5;
  V outer[5], second[5], third[5];  // sorted: rows 0, 2 and 3 of the next window
  V pair[10];                       // rows 1 and 2, merged

  template <class LoadRow>
  ORBBEC_HD void start(const LoadRow& load_row) {
    V other[5];
    load_row(outer), load_row(other), load_row(second), load_row(third);
    sort_row(outer), sort_row(other), sort_row(second), sort_row(third);
    merge(other, second, pair);
  }

  ORBBEC_HD void next(V (&first)[5], V (&last)[5], V& upper, V& below) {
    sort_row(first), sort_row(last);
    V new_pair[10];
    merge(third, first, new_pair);
    V middle[6];
    middle_of(pair, new_pair, middle);
    upper = median(middle, outer);
    below = median(middle, last);
#pragma unroll
    for (int i = 0; i < 10; ++i) pair[i] = new_pair[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) outer[i] = second[i], second[i] = first[i], third[i] = last[i];
  }

 private:
  // Batcher's odd-even merge.
  ORBBEC_HD static void merge(const V (&a)[5], const V (&b)[5], V (&merged)[10]) {
    constexpr signed char kPairs[][2] = {{0, 5}, {4, 9}, {4, 5}, {2, 7}, {2, 4}, {7, 5}, {1, 6},
                                         {3, 8}, {3, 6}, {1, 2}, {3, 4}, {6, 7}, {8, 5}};
    constexpr signed char kOrder[10] = {0, 1, 2, 3, 4, 6, 7, 8, 5, 9};
    V values[10];
#pragma unroll
    for (int i = 0; i < 5; ++i) values[i] = a[i], values[5 + i] = b[i];
    exchange(kPairs, values);
#pragma unroll
    for (int i = 0; i < 10; ++i) merged[i] = values[kOrder[i]];
  }

  // The 8th to 13th of two sorted tens: what is left of a merge without what they do not need.
  ORBBEC_HD static void middle_of(const V (&a)[10], const V (&b)[10], V (&middle)[6]) {
    constexpr signed char kPairs[][2] = {
        {0, 10}, {8, 18},  {8, 10}, {4, 14},  {4, 8},  {14, 10}, {2, 12}, {6, 16},  {6, 12},
        {6, 8},  {12, 14}, {1, 11}, {9, 19},  {9, 11}, {5, 15},  {5, 9},  {15, 11}, {3, 13},
        {7, 17}, {7, 13},  {7, 9},  {13, 15}, {7, 8},  {9, 12},  {13, 14}};
    constexpr signed char kOrder[6] = {7, 8, 9, 12, 13, 14};
    V values[20];
#pragma unroll
    for (int i = 0; i < 10; ++i) values[i] = a[i], values[10 + i] = b[i];
    exchange(kPairs, values);
#pragma unroll
    for (int i = 0; i < 6; ++i) middle[i] = values[kOrder[i]];
  }

  // The 6th of both: the least over i of the greater of middle i and row 6 - i.
  ORBBEC_HD static V median(const V (&middle)[6], const V (&row)[5]) {
    V least = middle[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) least = lower(least, higher(middle[i], row[4 - i]));
    return least;
  }
};

}  // namespace orbbec
