# Builds the libjpeg-turbo inside of OpenCV's source package by itself: copied beside it as CMakeLists.txt.
# What its own CMakeLists.txt expects of OpenCV's is defined here.
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
set(REQUIRE_SIMD ON) # without it the decoders of the Python packages are faster
set(JPEG_LIBRARY jpeg)
set(3P_LIBRARY_OUTPUT_PATH ${CMAKE_BINARY_DIR})
add_subdirectory(libjpeg-turbo)

install(TARGETS jpeg ARCHIVE DESTINATION lib)
install(FILES ${CMAKE_BINARY_DIR}/libjpeg-turbo/jconfig.h libjpeg-turbo/src/jmorecfg.h
              libjpeg-turbo/src/jpeglib.h libjpeg-turbo/src/jerror.h DESTINATION include)
