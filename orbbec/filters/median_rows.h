// Medians of 3 x 3 and 5 x 5 windows that slide down: what neighboring windows have in common is
// sorted once. Included by median_strips.h and median_cuda.cu.
#pragma once

#include <utility>

#include "median.h"

namespace orbbec {

// Compare-exchanges in order, of numbers or vectors of numbers. No loop: host compilers unroll none
// of so many steps.
template <int kCount, class V, int kValues, int... kStep>
ORBBEC_HD void exchange(const signed char (&pairs)[kCount][2], V (&values)[kValues],
                        std::integer_sequence<int, kStep...>) {
  (sort_two(values[pairs[kStep][0]], values[pairs[kStep][1]]), ...);
}
template <int kCount, class V, int kValues>
ORBBEC_HD void exchange(const signed char (&pairs)[kCount][2], V (&values)[kValues]) {
  exchange(pairs, values, std::make_integer_sequence<int, kCount>());
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

// The values of two sorted lists, a before b, in the order that the exchanges leave.
template <int kCount, int kOut, class V, int kA, int kB>
ORBBEC_HD void merge(const signed char (&pairs)[kCount][2], const signed char (&order)[kOut],
                     const V (&a)[kA], const V (&b)[kB], V (&merged)[kOut]) {
  V values[kA + kB];
#pragma unroll
  for (int i = 0; i < kA; ++i) values[i] = a[i];
#pragma unroll
  for (int i = 0; i < kB; ++i) values[kA + i] = b[i];
  exchange(pairs, values);
#pragma unroll
  for (int i = 0; i < kOut; ++i) merged[i] = values[order[i]];
}

// Sorts a value and two that are sorted.
template <class V>
ORBBEC_HD void insert(V& low, V& value, V& high) {
  sort_two(low, value);
  sort_two(value, high);
}
template <class V>
ORBBEC_HD V within(V low, V value, V high) {
  insert(low, value, high);
  return value;
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
      V first = higher(least, outer[0]), last = lower(most, outer[2]);
      sort_two(first, last);
      return within(first, within(low, outer[1], high), last);
    };
    upper = median(rows[0]);
    below = median(second);
#pragma unroll
    for (int i = 0; i < 3; ++i) rows[0][i] = first[i], rows[1][i] = second[i];
  }
};

// The same for the windows of kOutputs neighboring columns: columns are sorted.
template <class V, int kSide, int kOutputs>
struct StripMedian;

template <class V, int kOutputs>
struct StripMedian<V, 3, kOutputs> {
  static constexpr int kColumns = kOutputs + 2;
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
      set_column(low, rows[0][i], high, i, above_columns);
      set_column(low, second[i], high, i, below_columns);
      rows[0][i] = first[i], rows[1][i] = second[i];
    }
    medians(above_columns, upper);
    medians(below_columns, below);
  }

 private:
  ORBBEC_HD static void set_column(V low, V value, V high, int i, V (&columns)[3][kColumns]) {
    insert(low, value, high);
    columns[0][i] = low, columns[1][i] = value, columns[2][i] = high;
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
        V first = higher(least, columns[0][outer]), last = lower(most, columns[2][outer]);
        sort_two(first, last);
        result[i + k] = within(first, within(low, columns[1][outer], high), last);
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
    orbbec::merge(kPairs, kOrder, a, b, merged);
  }

  // The 8th to 13th of two sorted tens: what is left of a merge without what they do not need.
  ORBBEC_HD static void middle_of(const V (&a)[10], const V (&b)[10], V (&middle)[6]) {
    constexpr signed char kPairs[][2] = {
        {0, 10}, {8, 18},  {8, 10}, {4, 14},  {4, 8},  {14, 10}, {2, 12}, {6, 16},  {6, 12},
        {6, 8},  {12, 14}, {1, 11}, {9, 19},  {9, 11}, {5, 15},  {5, 9},  {15, 11}, {3, 13},
        {7, 17}, {7, 13},  {7, 9},  {13, 15}, {7, 8},  {9, 12},  {13, 14}};
    constexpr signed char kOrder[6] = {7, 8, 9, 12, 13, 14};
    orbbec::merge(kPairs, kOrder, a, b, middle);
  }

  // The 6th of both: the least over i of the greater of middle i and row 6 - i.
  ORBBEC_HD static V median(const V (&middle)[6], const V (&row)[5]) {
    V least = middle[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) least = lower(least, higher(middle[i], row[4 - i]));
    return least;
  }
};

template <class V, int kOutputs>
struct StripMedian<V, 5, kOutputs> {
  static constexpr int kColumns = kOutputs + 4;
  V top[kColumns], after_top[kColumns], last[kColumns];  // rows 0, 2 and 3 of the next windows
  V pairs[kColumns][2];                                  // rows 1 and 2, sorted

  template <class LoadRow>
  ORBBEC_HD void start(const LoadRow& load_row) {
    V other[kColumns];
    load_row(top), load_row(other), load_row(after_top), load_row(last);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      pairs[i][0] = other[i], pairs[i][1] = after_top[i];
      sort_two(pairs[i][0], pairs[i][1]);
    }
  }

  // Two windows below each other have four rows in common. Of these, two windows side by side have
  // four columns in common.
  ORBBEC_HD void next(const V (&first)[kColumns], const V (&second)[kColumns], V (&upper)[kOutputs],
                      V (&below)[kOutputs]) {
    V columns[kColumns][4], two[kColumns / 2 - 1][8];
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      V pair[2] = {last[i], first[i]};
      sort_two(pair[0], pair[1]);
      merge_pairs(pairs[i], pair, columns[i]);
      pairs[i][0] = pair[0], pairs[i][1] = pair[1];
    }
#pragma unroll
    for (int i = 0; i < kColumns / 2 - 1; ++i) {
      merge_columns(columns[2 * i + 1], columns[2 * i + 2], two[i]);
    }
    V above[kOutputs / 2][4], under[kOutputs / 2][4];
    sort_fours(top, above);
    sort_fours(second, under);
#pragma unroll
    for (int i = 0; i < kOutputs; i += 2) {
      V common[10];
      middle_of(two[i / 2], two[i / 2 + 1], common);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int outer = i + 5 * k;
        V middle[6];
        add_column(common, columns[outer], middle);
        upper[i + k] = median(middle, above[i / 2], top[outer]);
        below[i + k] = median(middle, under[i / 2], second[outer]);
      }
    }
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      top[i] = after_top[i], after_top[i] = first[i], last[i] = second[i];
    }
  }

 private:
  ORBBEC_HD static void merge_pairs(const V (&a)[2], const V (&b)[2], V (&merged)[4]) {
    constexpr signed char kPairs[][2] = {{0, 2}, {1, 3}, {1, 2}}, kOrder[4] = {0, 1, 2, 3};
    merge(kPairs, kOrder, a, b, merged);
  }
  ORBBEC_HD static void merge_columns(const V (&a)[4], const V (&b)[4], V (&merged)[8]) {
    constexpr signed char kPairs[][2] = {{0, 4}, {2, 6}, {2, 4}, {1, 5}, {3, 7},
                                         {3, 5}, {1, 2}, {3, 4}, {5, 6}};
    constexpr signed char kOrder[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    merge(kPairs, kOrder, a, b, merged);
  }
  // Of 16 values, the 4th to 13th.
  ORBBEC_HD static void middle_of(const V (&a)[8], const V (&b)[8], V (&middle)[10]) {
    constexpr signed char kPairs[][2] = {{0, 8},  {4, 12}, {4, 8},   {2, 10}, {6, 14}, {6, 10},
                                         {2, 4},  {6, 8},  {10, 12}, {1, 9},  {5, 13}, {5, 9},
                                         {3, 11}, {7, 15}, {7, 11},  {3, 5},  {7, 9},  {11, 13},
                                         {3, 4},  {5, 6},  {7, 8},   {9, 10}, {11, 12}};
    constexpr signed char kOrder[10] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    merge(kPairs, kOrder, a, b, middle);
  }
  // Of the 20 values with one more column, the 8th to 13th.
  ORBBEC_HD static void add_column(const V (&common)[10], const V (&column)[4], V (&middle)[6]) {
    constexpr signed char kPairs[][2] = {{7, 10}, {3, 7},  {12, 1}, {9, 1}, {5, 9},  {5, 7},
                                         {9, 10}, {11, 0}, {8, 0},  {4, 8}, {13, 2}, {6, 2},
                                         {13, 4}, {6, 8},  {4, 5},  {6, 7}, {8, 9}};
    constexpr signed char kOrder[6] = {4, 5, 6, 7, 8, 9};
    merge(kPairs, kOrder, common, column, middle);
  }
  // The four columns that two windows have in common, sorted; for each two windows of a row.
  ORBBEC_HD static void sort_fours(const V (&row)[kColumns], V (&fours)[kOutputs / 2][4]) {
    V two[kColumns / 2 - 1][2];
#pragma unroll
    for (int i = 0; i < kColumns / 2 - 1; ++i) {
      two[i][0] = row[2 * i + 1], two[i][1] = row[2 * i + 2];
      sort_two(two[i][0], two[i][1]);
    }
#pragma unroll
    for (int i = 0; i < kOutputs / 2; ++i) merge_pairs(two[i], two[i + 1], fours[i]);
  }
  // The two middle ones of 24 values, and the last value between them.
  ORBBEC_HD static V median(const V (&middle)[6], const V (&four)[4], V corner) {
    constexpr signed char kPairs[][2] = {{4, 9}, {4, 0}, {2, 7}, {7, 0}, {1, 6},
                                         {5, 6}, {3, 8}, {3, 5}, {5, 7}};
    constexpr signed char kOrder[2] = {5, 7};
    V two[2];
    merge(kPairs, kOrder, middle, four, two);
    return within(two[0], corner, two[1]);
  }
};

}  // namespace orbbec
