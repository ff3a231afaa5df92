# SPDX-License-Identifier: Apache-2.0
#
# The tests, found by their paths:
#
#   tests/unit/NAME.c        unit.NAME      cmocka, sees the library's inner names
#   tests/kcheck/*.c         kcheck.LEVEL   every kernel against the scalar one
#   tests/gcheck/*.c         gcheck.*       searches on GPUs against those on the CPU; here on the emulator
#   tests/fuzz/fuzz_NAME.c   fuzz.NAME      a libFuzzer target; here it replays tests/fuzz/corpus/NAME and mutations
#   tests/cli/NAME.sh        cli.NAME       the programs from outside
#   examples/NAME.c          example.NAME   public API only
#   examples/NAME.py         example.NAME.py   the same in Python
#   python/tests/test_*.py   python         the Python package on the shared library; test_abuse.py: python.abuse, too
#   python/tests/FOLDER/     python.FOLDER  the same, of a folder
#   tests/reports/test_*.py  reports        faults that users of other projects have reported (README.md there)
#   tests/simt/test_NAME.cc  simt.NAME      the emulator that kernels for GPUs are tested with; needs a C++ compiler
#   tests/bench/*.py         house.peers    the Python part of the benchmarks
#   tools/check-NAME         house.NAME     the checks of the house (option THR_HOUSE)
#
# A test that answers 77 is skipped. Each works in a directory of its own and finds the sources by THR_SOURCE_DIR.

set(support_dir ${PROJECT_SOURCE_DIR}/tests/support)
set(work_dir ${PROJECT_BINARY_DIR}/tests/work)
set(in_scratch sh ${PROJECT_SOURCE_DIR}/tools/in-scratch)
set(with_python ${in_scratch} sh ${PROJECT_SOURCE_DIR}/tools/with-python)

# thr_sources(variable prefix pattern): the files whose tests, prefixNAME, match THR_TESTS.
function(thr_sources variable prefix pattern)
    file(GLOB sources CONFIGURE_DEPENDS ${pattern})
    set(wanted "")
    foreach(source IN LISTS sources)
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "^fuzz_" "" name ${name})
        if(NOT THR_TESTS OR "${prefix}${name}" MATCHES "${THR_TESTS}")
            list(APPEND wanted ${source})
        endif()
    endforeach()
    set(${variable} "${wanted}" PARENT_SCOPE)
endfunction()

# thr_test(name command...): add a test, with everything all tests share.
function(thr_test name)
    file(MAKE_DIRECTORY ${work_dir}/${name})
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${work_dir}/${name})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
                         ENVIRONMENT "THR_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()

# Some tests depend on optional parts, or are smaller under a sanitizer or in an emulator.
set(test_definitions "THR_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
if(THR_SANITIZE OR THR_FUZZ OR CMAKE_CROSSCOMPILING)
    list(APPEND test_definitions THR_SANITIZED=1)
endif()

# ---------------------------------------------------------------------------------------- unit, kcheck and fuzz

find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
mark_as_advanced(CMOCKA_INCLUDE_DIR CMOCKA_LIBRARY)

add_library(thresher_test_needs INTERFACE)
target_include_directories(thresher_test_needs INTERFACE ${support_dir} ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(thresher_test_needs INTERFACE ${test_definitions})
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # gcc cannot see that a failed assertion of cmocka does not return, nor how long a test's paths are.
    target_compile_options(thresher_test_needs INTERFACE -Wno-maybe-uninitialized -Wno-format-truncation)
endif()
target_link_libraries(thresher_test_needs INTERFACE thresher_internal)
# Every test links the whole library: gold takes a quarter of the default linker's time.
check_linker_flag(C "-fuse-ld=gold" linker_is_gold)
if(linker_is_gold)
    target_link_options(thresher_test_needs INTERFACE "-fuse-ld=gold")
endif()
if(CMOCKA_INCLUDE_DIR AND CMOCKA_LIBRARY)
    target_include_directories(thresher_test_needs SYSTEM INTERFACE ${CMOCKA_INCLUDE_DIR})
    target_link_libraries(thresher_test_needs INTERFACE ${CMOCKA_LIBRARY})
else()
    message(STATUS "cmocka was not found for ${CMAKE_SYSTEM_PROCESSOR}: tests use the stand-in of tests/cmocka")
    add_library(thresher_test_cmocka STATIC tests/cmocka/cmocka.c)
    target_include_directories(thresher_test_cmocka PUBLIC tests/cmocka)
    target_link_libraries(thresher_test_needs INTERFACE thresher_test_cmocka)
endif()

# Roaring bitmaps are compared with CRoaring's, where it is (Debian: libroaring-dev).
find_path(CROARING_INCLUDE_DIR roaring/roaring.h)
find_library(CROARING_LIBRARY roaring)
mark_as_advanced(CROARING_INCLUDE_DIR CROARING_LIBRARY)
if(CROARING_INCLUDE_DIR AND CROARING_LIBRARY)
    message(STATUS "CRoaring, for tests: on")
    target_include_directories(thresher_test_needs SYSTEM INTERFACE ${CROARING_INCLUDE_DIR})
    target_compile_definitions(thresher_test_needs INTERFACE TEST_WITH_CROARING=1)
    target_link_libraries(thresher_test_needs INTERFACE ${CROARING_LIBRARY})
else()
    message(STATUS "CRoaring, for tests: not found, left out")
endif()

file(GLOB support_sources CONFIGURE_DEPENDS ${support_dir}/*.c)
if(support_sources)
    add_library(thresher_test_support STATIC ${support_sources})
    target_link_libraries(thresher_test_support PUBLIC thresher_test_needs)
    set(test_libraries thresher_test_support)
else()
    set(test_libraries thresher_test_needs)
endif()

thr_sources(unit_sources unit. tests/unit/*.c)
foreach(source IN LISTS unit_sources)
    get_filename_component(name ${source} NAME_WE)
    file(READ ${source} text) # tests with one thread only are useless under ThreadSanitizer
    if(THR_SANITIZE MATCHES "thread" AND text MATCHES "test_context\\(1," AND
       NOT text MATCHES "test_context\\([^1]|test_run_with_context|TEST_IN_CONTEXT\\([^1]|n_threads|thr_context_create|pthread|test_at_" AND
       NOT text MATCHES "test_run_in_directory\\(tests, [^1]")
        continue()
    endif()
    add_executable(unit_${name} ${source})
    target_compile_options(unit_${name} PRIVATE "$<${optimised}:-O1>") # a third less to compile than with -O2
    target_link_libraries(unit_${name} PRIVATE ${test_libraries})
    if(name MATCHES "^(index|shards|hits|head|dual_tower|text_tower)" AND NOT CMAKE_CROSSCOMPILING) # they flush many files
        thr_test(unit.${name} ${in_scratch} $<TARGET_FILE:unit_${name}>)
    else()
        thr_test(unit.${name} unit_${name})
    endif()
endforeach()

thr_sources(kcheck_sources "kcheck " tests/kcheck/*.c)
if(kcheck_sources)
    add_executable(kcheck ${kcheck_sources})
    target_link_libraries(kcheck PRIVATE ${test_libraries})
    set(levels scalar)
    if(THR_X86)
        list(APPEND levels avx2 avx512-vnni avx512)
    elseif(THR_ARM64)
        list(APPEND levels neon neon-dot)
    endif()
    foreach(isa IN LISTS levels)
        thr_test(kcheck.${isa} kcheck --isa ${isa})
    endforeach()
endif()

thr_sources(fuzz_sources fuzz. tests/fuzz/fuzz_*.c)
if(fuzz_sources AND NOT THR_FUZZ)
    add_library(thresher_fuzz_replay OBJECT tests/fuzz/replay_main.c)
    target_link_libraries(thresher_fuzz_replay PRIVATE ${test_libraries})
endif()
foreach(source IN LISTS fuzz_sources)
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${target})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE ${test_libraries})
    if(EXISTS ${PROJECT_SOURCE_DIR}/programs/thresher/input/${name}.c) # a reader of the program's own
        target_sources(${target} PRIVATE programs/thresher/input/${name}.c)
        target_include_directories(${target} PRIVATE programs/thresher)
    endif()
    if(THR_FUZZ)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:thresher_fuzz_replay>)
        thr_test(fuzz.${name} ${target} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
        file(READ ${source} text)
        if(THR_FUZZ_SECONDS AND text MATCHES "mutator\\.h")
            set_property(TEST fuzz.${name} APPEND PROPERTY ENVIRONMENT "THR_FUZZ_SECONDS=${THR_FUZZ_SECONDS}")
        endif()
    endif()
endforeach()

# -------------------------------------------------------------------------------------------------------- simt

# The emulator of GPUs. ThreadSanitizer does not support its fibers, no cross compiler for C++ is needed elsewhere,
# and a build without CUDA (THR_WITH_CUDA=OFF) has no emulated CUDA either.
set(with_simt OFF)
if(NOT CMAKE_CROSSCOMPILING AND NOT THR_FUZZ AND NOT THR_SANITIZE MATCHES "thread" AND THR_WITH_CUDA)
    include(CheckLanguage)
    if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
        # The C compiler's brother, or else two sanitizers would meet in one process.
        get_filename_component(brother ${CMAKE_C_COMPILER} NAME)
        get_filename_component(brother_dir ${CMAKE_C_COMPILER} DIRECTORY)
        string(REGEX REPLACE "clang" "clang++" brother ${brother})
        string(REGEX REPLACE "gcc" "g++" brother ${brother})
        string(REGEX REPLACE "^cc$" "c++" brother ${brother})
        find_program(CMAKE_CXX_COMPILER NAMES ${brother} HINTS ${brother_dir} NO_DEFAULT_PATH)
        if(NOT CMAKE_CXX_COMPILER)
            unset(CMAKE_CXX_COMPILER CACHE)
        endif()
    endif()
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        set(with_simt ON)
    else()
        message(STATUS "The emulator of GPUs, for tests: no C++ compiler, left out")
    endif()
endif()
if(with_simt)
    foreach(config RELEASE RELWITHDEBINFO)
        set(CMAKE_CXX_FLAGS_${config} "${CMAKE_C_FLAGS_${config}}" CACHE STRING "As for C")
    endforeach()
    enable_language(CXX)
    set(CMAKE_CXX_STANDARD 17)
    set(CMAKE_CXX_STANDARD_REQUIRED ON)
    set(CMAKE_CXX_EXTENSIONS OFF)
    set(CMAKE_CXX_VISIBILITY_PRESET hidden)

    file(GLOB simt_sources CONFIGURE_DEPENDS tests/simt/*.cc)
    set(simt_tests ${simt_sources})
    list(FILTER simt_sources EXCLUDE REGEX "/test_[^/]*$")
    list(FILTER simt_tests INCLUDE REGEX "/test_[^/]*$")
    add_library(thresher_simt STATIC ${simt_sources})
    set_target_properties(thresher_simt PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(thresher_simt PUBLIC tests/simt)
    target_link_libraries(thresher_simt PUBLIC Threads::Threads)
    if(THR_SANITIZE) # all emulated kernels spend most of their time here
        target_compile_options(thresher_simt PRIVATE -O2)
    endif()
    if(THR_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        # Emulated kernels took two and a half times as long with it; all else is still watched.
        target_compile_options(thresher_simt PUBLIC -fsanitize-address-use-after-return=never)
    endif()
    if(THR_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        # These checks are in a part of clang's runtime that programs in C do not have; they open plugins made of this.
        target_compile_options(thresher_simt PUBLIC -fno-sanitize=function,vptr)
        # AddressSanitizer finds what these do, and kernels take half as long again to compile with them.
        target_compile_options(thresher_simt PUBLIC -fno-sanitize=null,object-size)
    endif()
    foreach(source IN LISTS simt_tests)
        get_filename_component(target ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" name ${target})
        add_executable(simt_${name} ${source})
        target_link_libraries(simt_${name} PRIVATE thresher_simt)
        thr_test(simt.${name} simt_${name})
    endforeach()

    # The CUDA backend once more, compiled as C++ for the emulator: tests load it as they would the real one.
    file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.cu src/cuda/*/*.cu)
    set(emulated "")
    foreach(source IN LISTS cuda_sources)
        string(REGEX REPLACE "^.*/src/cuda/(.*)\\.cu$" "\\1" name ${source})
        set(wrapper ${PROJECT_BINARY_DIR}/emulated/${name}.cc)
        file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n")
        set_property(SOURCE ${wrapper} APPEND PROPERTY OBJECT_DEPENDS ${source})
        list(APPEND emulated ${wrapper})
    endforeach()
    add_library(thresher_cuda_emulated MODULE ${emulated}
        src/ground/base/error.c src/ground/base/text/printable.c src/ground/base/text/utf8.c)
    target_include_directories(thresher_cuda_emulated PRIVATE ${THR_INCLUDES})
    target_link_libraries(thresher_cuda_emulated PRIVATE thresher_simt ${CMAKE_DL_LIBS})
    # Loops that nvcc has to unroll need not be here: gcc ignores the pragma, and clang would take minutes.
    target_compile_options(thresher_cuda_emulated PRIVATE
                           -Wno-unknown-pragmas
                           "$<$<CXX_COMPILER_ID:Clang>:SHELL:-mllvm -pragma-unroll-threshold=1 -Wno-pass-failed>")
    set_target_properties(thresher_cuda_emulated PROPERTIES EXPORT_COMPILE_COMMANDS OFF) # the files of base are known already
    # And what it loads in the place of cuBLAS.
    add_library(thresher_cublas_emulated MODULE tests/simt/cublas/cublas.c)
    add_dependencies(thresher_cuda_emulated thresher_cublas_emulated)
    target_compile_definitions(thresher_test_needs INTERFACE
                               TEST_EMULATED_BACKEND="$<TARGET_FILE:thresher_cuda_emulated>"
                               TEST_EMULATED_CUBLAS="$<TARGET_FILE:thresher_cublas_emulated>")
endif()

# ------------------------------------------------------------------------------------------------------ gcheck

# What tools/gpu-check runs on a machine with a GPU; the test is the same program with the emulated backend.
thr_sources(gcheck_sources "gcheck " tests/gcheck/*.c)
if(gcheck_sources)
    add_executable(gcheck ${gcheck_sources})
    target_link_libraries(gcheck PRIVATE ${test_libraries})
    if(TARGET thresher_cuda_emulated)
        thr_test(gcheck.emulated gcheck --test)
        set_property(TEST gcheck.emulated PROPERTY SKIP_RETURN_CODE) # without devices it is a failure here
        set_property(TEST gcheck.emulated APPEND PROPERTY ENVIRONMENT
                     "THR_CUDA_LIBRARY=$<TARGET_FILE:thresher_cuda_emulated>" "THR_SIMT_DEVICES=3"
                     "THR_CUBLAS_LIBRARY=$<TARGET_FILE:thresher_cublas_emulated>")
        thr_test(gcheck.script sh ${PROJECT_SOURCE_DIR}/tests/gcheck/results.sh ${PROJECT_BINARY_DIR}
                 $<TARGET_FILE:thresher_cuda_emulated>)
        set_tests_properties(gcheck.script PROPERTIES TIMEOUT 960) # sanitizers, on a slow and busy machine
    else()
        thr_test(gcheck.script sh ${PROJECT_SOURCE_DIR}/tests/gcheck/results.sh)
    endif()
endif()

# What a GPU can do at most, and cuBLAS and cuSPARSE on it; its products by four warps are compute capability 9.0's alone ("90a").
if(THR_HAS_CUDA)
    file(GLOB gprobe_sources CONFIGURE_DEPENDS tests/gcheck/probe/*.cu)
    find_package(CUDAToolkit)
    string(REPLACE "90-real" "90a-real" gprobe_architectures "${CMAKE_CUDA_ARCHITECTURES}")
    add_executable(gprobe ${gprobe_sources})
    set_target_properties(gprobe PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
                          CUDA_ARCHITECTURES "${gprobe_architectures}" CUDA_RUNTIME_LIBRARY Static)
    set_property(TARGET gprobe PROPERTY COMPILE_OPTIONS "-Xcompiler=-Wall,-Wextra$<$<BOOL:${THR_WERROR}>:,-Werror>")
    if(TARGET CUDA::cublas)
        target_compile_definitions(gprobe PRIVATE PROBE_WITH_CUBLAS=1)
        target_link_libraries(gprobe PRIVATE CUDA::cublas)
    endif()
    if(TARGET CUDA::cusparse)
        target_compile_definitions(gprobe PRIVATE PROBE_WITH_CUSPARSE=1)
        target_link_libraries(gprobe PRIVATE CUDA::cusparse)
    endif()
endif()

# --------------------------------------------------------------------------------------------- cli and examples

if(TARGET thresher_bench AND NOT CMAKE_CROSSCOMPILING) # the scripts call the program without an emulator
    thr_sources(cli_sources cli. tests/cli/*.sh)
    foreach(source IN LISTS cli_sources)
        get_filename_component(name ${source} NAME_WE)
        thr_test(cli.${name} ${in_scratch} sh ${source})
        set_property(TEST cli.${name} APPEND PROPERTY ENVIRONMENT
                     "THRESHER=$<TARGET_FILE:thresher_program>" "THRESHER_BENCH=$<TARGET_FILE:thresher_bench>")
        if(THR_SANITIZE)
            set_property(TEST cli.${name} APPEND PROPERTY ENVIRONMENT THR_SANITIZED=1)
        endif()
        if(TARGET thresher_cuda_emulated)
            set_property(TEST cli.${name} APPEND PROPERTY ENVIRONMENT
                         "EMULATED_GPUS=$<TARGET_FILE:thresher_cuda_emulated>")
        endif()
        set_property(TEST cli.${name} PROPERTY COST 5)
    endforeach()
endif()

thr_sources(example_sources example. examples/*.c)
foreach(source IN LISTS example_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    target_link_libraries(example_${name} PRIVATE thresher m)
    thr_test(example.${name} ${in_scratch} ${CMAKE_CROSSCOMPILING_EMULATOR}
             $<TARGET_FILE:example_${name}>)
endforeach()

# ------------------------------------------------------------------------------------------------------- python

# A sanitizer's library cannot be loaded by a Python without it (but see below), nor another CPU's.
if(NOT THR_SANITIZE AND NOT THR_FUZZ AND NOT CMAKE_CROSSCOMPILING)
    set(python_tests ${PROJECT_SOURCE_DIR}/python/tests)
    foreach(folder "" .index .shards) # beside one another
        string(REPLACE . / under "${folder}")
        thr_test(python${folder} ${with_python} -m unittest discover -s ${python_tests}${under})
        set_property(TEST python${folder} APPEND PROPERTY ENVIRONMENT
                     "THRESHER_LIBRARY=$<TARGET_FILE:thresher>" "PYTHONPATH=${python_tests}" "CC=${CMAKE_C_COMPILER}"
                     "PYTHONDONTWRITEBYTECODE=1")
        set_property(TEST python${folder} PROPERTY COST 20)
    endforeach()
    if(TARGET thresher_program)
        thr_test(reports ${with_python} -m unittest discover
                 -s ${PROJECT_SOURCE_DIR}/tests/reports)
        set_property(TEST reports APPEND PROPERTY ENVIRONMENT
                     "THRESHER_LIBRARY=$<TARGET_FILE:thresher>" "THRESHER=$<TARGET_FILE:thresher_program>"
                     "PYTHONDONTWRITEBYTECODE=1")
        set_property(TEST reports PROPERTY COST 10)
    endif()
    file(GLOB python_examples CONFIGURE_DEPENDS examples/*.py)
    foreach(source IN LISTS python_examples)
        get_filename_component(name ${source} NAME)
        thr_test(example.${name} ${with_python} ${source})
        set_property(TEST example.${name} APPEND PROPERTY ENVIRONMENT
                     "THRESHER_LIBRARY=$<TARGET_FILE:thresher>" "PYTHONDONTWRITEBYTECODE=1")
    endforeach()
elseif(THR_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT THR_FUZZ AND NOT CMAKE_CROSSCOMPILING
       AND (NOT THR_TESTS OR "python.abuse" MATCHES "${THR_TESTS}"))
    # GCC's runtime can be loaded before Python: what must not bring Python down is run with it.
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan_runtime
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    thr_test(python.abuse ${with_python} -m unittest discover
             -s ${PROJECT_SOURCE_DIR}/python/tests -p test_abuse.py)
    set_property(TEST python.abuse APPEND PROPERTY ENVIRONMENT
                 "THRESHER_LIBRARY=$<TARGET_FILE:thresher>" "LD_PRELOAD=${asan_runtime}" "ASAN_OPTIONS=detect_leaks=0"
                 "PYTHONDONTWRITEBYTECODE=1")
endif()

# -------------------------------------------------------------------------------------------------------- house

if(THR_HOUSE)
    file(GLOB check_scripts CONFIGURE_DEPENDS tools/check-*)
    foreach(script IN LISTS check_scripts)
        get_filename_component(name ${script} NAME)
        string(REGEX REPLACE "^check-" "" name ${name})
        thr_test(house.${name} sh ${script})
        set_property(TEST house.${name} APPEND PROPERTY ENVIRONMENT
                     "THR_BUILD_DIR=${PROJECT_BINARY_DIR}" "THR_LIBRARY=$<TARGET_FILE:thresher>"
                     "CC=${CMAKE_C_COMPILER}" "CMAKE=${CMAKE_COMMAND}")
    endforeach()
    set_tests_properties(house.tidy PROPERTIES PROCESSORS 2 TIMEOUT 900) # it uses two CPUs itself
    set_tests_properties(house.readme house.wheel PROPERTIES COST 30) # long ones first, so that none runs alone at the end
elseif(CMAKE_CROSSCOMPILING) # the house sees what its own machine compiles; these it does not
    thr_test(house.tidy sh ${PROJECT_SOURCE_DIR}/tools/check-tidy ${arm_sources})
    set_property(TEST house.tidy APPEND PROPERTY ENVIRONMENT "THR_BUILD_DIR=${PROJECT_BINARY_DIR}")
endif()
