# Builds only the libjpeg-turbo in OpenCV's sources: vendor.py copies this file next to it as CMakeLists.txt.
# The macros and variables that it expects from OpenCV's build are defined here.
cmake_minimum_required(VERSION 3.25)
project(orbbec_libjpeg_turbo C)

macro(ocv_warnings_disable)
endmacro()
macro(ocv_update variable value)
  set(${variable} ${value})
endmacro()
macro(OCV_OPTION variable text value)
  option(${variable} ${text} ON)
endmacro()
macro(ocv_list_add_prefix list prefix)
  list(TRANSFORM ${list} PREPEND ${prefix})
endmacro()
macro(ocv_install_target)
endmacro()
macro(ocv_install_3rdparty_licenses)
endmacro()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(REQUIRE_SIMD ON) # unless ENABLE_LIBJPEG_TURBO_SIMD is off; vendor.py prints that
set(JPEG_LIBRARY jpeg)
set(3P_LIBRARY_OUTPUT_PATH ${CMAKE_BINARY_DIR})
add_subdirectory(libjpeg-turbo)

# Huffman decoding takes most of the time, and BMI2 shifts make it faster. The decoders are compiled twice, the second
# time under other names, and jdmaster.c calls those that the processor supports.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(decoders jinit_huff_decoder jinit_phuff_decoder)
  set(chooser ${CMAKE_CURRENT_BINARY_DIR}/choose_decoder.c)
  file(WRITE ${chooser} "struct jpeg_decompress_struct;\n")
  foreach(decoder ${decoders})
    string(CONFIGURE [[
void @decoder@(struct jpeg_decompress_struct*);
void @decoder@_bmi2(struct jpeg_decompress_struct*);
void @decoder@_chosen(struct jpeg_decompress_struct* info) {
  __builtin_cpu_supports("bmi2") ? @decoder@_bmi2(info) : @decoder@(info);
}
]] choice @ONLY)
    file(APPEND ${chooser} "${choice}")
    set_property(
      SOURCE libjpeg-turbo/src/jdmaster.c DIRECTORY libjpeg-turbo
      APPEND PROPERTY COMPILE_DEFINITIONS ${decoder}=${decoder}_chosen)
  endforeach()
  add_library(huffman_bmi2 OBJECT libjpeg-turbo/src/jdhuff.c libjpeg-turbo/src/jdphuff.c)
  foreach(name ${decoders} jpeg_make_d_derived_tbl jpeg_fill_bit_buffer jpeg_huff_decode)
    target_compile_definitions(huffman_bmi2 PRIVATE ${name}=${name}_bmi2)
  endforeach()
  target_compile_options(huffman_bmi2 PRIVATE -mbmi -mbmi2)
  target_include_directories(huffman_bmi2 PRIVATE libjpeg-turbo/src ${CMAKE_BINARY_DIR}/libjpeg-turbo)
  target_sources(jpeg PRIVATE ${chooser} $<TARGET_OBJECTS:huffman_bmi2>)
endif()

install(TARGETS jpeg ARCHIVE DESTINATION lib)
install(FILES ${CMAKE_BINARY_DIR}/libjpeg-turbo/jconfig.h libjpeg-turbo/src/jmorecfg.h
              libjpeg-turbo/src/jpeglib.h libjpeg-turbo/src/jerror.h DESTINATION include)
