// Reads pairs (y, x) of doubles from stdin and writes orbbec::arctangent of each; see
// test_arctangent.py.
#include "orbbec/core/arctangent.h"

#include <cstdio>

int main() {
  double point[2];
  while (fread(point, sizeof(double), 2, stdin) == 2) {
    const double angle = orbbec::arctangent(point[0], point[1]);
    fwrite(&angle, sizeof(double), 1, stdout);
  }
}
