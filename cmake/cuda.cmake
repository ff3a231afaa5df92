# SPDX-License-Identifier: Apache-2.0
#
# The CUDA backend: src/cuda/*.cu, one shared library that nothing links to. CUDA's runtime is linked into it, so that
# it needs a driver and nothing else; for training cuBLAS, which it loads itself.
enable_language(CUDA)

file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.cu src/cuda/*/*.cu)
add_library(thresher_cuda MODULE ${cuda_sources}
    src/ground/base/error.c src/ground/base/text/printable.c src/ground/base/text/utf8.c)
set_target_properties(thresher_cuda PROPERTIES
    CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static
    CUDA_VISIBILITY_PRESET hidden
    EXPORT_COMPILE_COMMANDS OFF) # clang-tidy checks the files of base elsewhere, and cannot parse CUDA
target_include_directories(thresher_cuda PRIVATE ${THR_INCLUDES})
target_link_libraries(thresher_cuda PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
# No contraction, as everywhere; warnings are the host compiler's, but for what nvcc itself writes.
set_property(TARGET thresher_cuda PROPERTY COMPILE_OPTIONS
    "$<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall,-Wextra$<$<BOOL:${THR_WERROR}>:,-Werror>>")
file(WRITE ${PROJECT_BINARY_DIR}/thresher_cuda.map "{ global: thr_backend_get; local: *; };\n")
target_link_options(thresher_cuda PRIVATE "LINKER:--version-script=${PROJECT_BINARY_DIR}/thresher_cuda.map")
