// CUDA's small vectors: int2, float4, uchar3 ... and dim3.
#pragma once

// One family: T1..T4 and their make_ functions, aligned as CUDA aligns them.
#define ORBBEC_EMULATION_VECTORS(name, type, align2, align4)                     \
  struct name##1 { type x; };                                                    \
  struct alignas(align2) name##2 { type x, y; };                                 \
  struct name##3 { type x, y, z; };                                              \
  struct alignas(align4) name##4 { type x, y, z, w; };                           \
  constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

ORBBEC_EMULATION_VECTORS(char, signed char, 2, 4)
ORBBEC_EMULATION_VECTORS(uchar, unsigned char, 2, 4)
ORBBEC_EMULATION_VECTORS(short, short, 4, 8)
ORBBEC_EMULATION_VECTORS(ushort, unsigned short, 4, 8)
ORBBEC_EMULATION_VECTORS(int, int, 8, 16)
ORBBEC_EMULATION_VECTORS(uint, unsigned int, 8, 16)
ORBBEC_EMULATION_VECTORS(longlong, long long, 16, 16)
ORBBEC_EMULATION_VECTORS(ulonglong, unsigned long long, 16, 16)
ORBBEC_EMULATION_VECTORS(float, float, 8, 16)
ORBBEC_EMULATION_VECTORS(double, double, 16, 16)
#undef ORBBEC_EMULATION_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
