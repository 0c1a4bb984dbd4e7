# Builds only the decoder of the libwebp in OpenCV's sources, with its SIMD code: vendor.py copies this file into its
# folder as CMakeLists.txt. libwebp chooses at run time what the processor supports.
cmake_minimum_required(VERSION 3.25)
project(orbbec_libwebp C)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
file(GLOB sources src/dec/*.c src/dsp/*.c src/utils/*.c)
list(FILTER sources EXCLUDE REGEX "_enc|/(cost|enc|ssim)[._]|_encode_|writer|quant_levels_utils|palette")
add_library(webp STATIC ${sources} src/demux/demux.c src/utils/palette.c)
target_include_directories(webp PRIVATE .)
target_compile_options(webp PRIVATE -ffunction-sections)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  target_compile_definitions(webp PRIVATE WEBP_HAVE_SSE2 WEBP_HAVE_SSE41 WEBP_HAVE_AVX2)
  foreach(source ${sources})
    if(source MATCHES "_sse41\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -msse4.1)
    elseif(source MATCHES "_avx2\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -mavx2)
    endif()
  endforeach()
endif()

install(TARGETS webp ARCHIVE DESTINATION lib)
install(FILES src/webp/decode.h src/webp/demux.h src/webp/mux_types.h src/webp/types.h DESTINATION include/webp)
