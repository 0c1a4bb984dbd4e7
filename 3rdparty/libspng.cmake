# Builds only the libspng in OpenCV's sources with their zlib, in one archive: vendor.py copies this file next to both as
# CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)
project(orbbec_libspng C)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
configure_file(zlib/zconf.h.in ${CMAKE_BINARY_DIR}/zconf.h @ONLY)
file(GLOB zlib zlib/*.c)
list(FILTER zlib EXCLUDE REGEX "/gz[a-z]+\\.c$")
add_library(spng STATIC libspng/spng.c ${zlib})
target_include_directories(spng PRIVATE zlib ${CMAKE_BINARY_DIR})
target_compile_definitions(spng PRIVATE SPNG_STATIC SPNG_ENABLE_TARGET_CLONES)
target_compile_options(spng PRIVATE -ffunction-sections)

install(TARGETS spng ARCHIVE DESTINATION lib)
install(FILES libspng/spng.h DESTINATION include)
