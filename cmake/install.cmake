# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where: library, headers, thresher.pc, CMake package, program, manual, completion.
include(CMakePackageConfigHelpers)

install(TARGETS thresher EXPORT thresherTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET thresher_cuda)
    install(TARGETS thresher_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/thresher DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thresher)
install(EXPORT thresherTargets NAMESPACE thresher:: DESTINATION ${package_dir})
configure_package_config_file(cmake/thresherConfig.cmake.in thresherConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(thresherConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/thresherConfig.cmake ${PROJECT_BINARY_DIR}/thresherConfigVersion.cmake
        DESTINATION ${package_dir})

# thresher.pc finds the library from its own place, so the installed tree may be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
    string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
    set(pc_${dir} "${CMAKE_INSTALL_${dir}}")
    if(NOT IS_ABSOLUTE "${pc_${dir}}")
        string(PREPEND pc_${dir} "\${prefix}/")
    endif()
endforeach()
set(pc_private "-pthread -lm") # for programs that link libthresher.a
if(THR_HAS_GZ)
    string(APPEND pc_private " -lz")
endif()
if(THR_HAS_XZ)
    string(APPEND pc_private " -llzma")
endif()
if(THR_HAS_HDF5)
    list(JOIN HDF5_LINK_LIBRARIES " " hdf5)
    string(APPEND pc_private " ${hdf5}")
endif()
configure_file(cmake/thresher.pc.in thresher.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/thresher.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(PROJECT_IS_TOP_LEVEL)
    add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
                      COMMENT "Removing what was last installed from here" VERBATIM)
endif()

if(NOT TARGET thresher_program)
    return()
endif()

file(RELATIVE_PATH up_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_target_properties(thresher_program PROPERTIES INSTALL_RPATH "$ORIGIN/${up_to_lib}")
install(TARGETS thresher_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The program generates its manual and its completion from its own table of options.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "Manual and completion are left out: the program cannot run here")
    return()
endif()
# docs/cli.md, which a test compares with the program, has the names of all commands: each has a page of the manual.
set(generated "")
set(from ${PROJECT_BINARY_DIR}/generated)
function(thr_generate name) # and the arguments of the program
    add_custom_command(
        OUTPUT ${from}/${name}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${from}
        COMMAND thresher_program ${ARGN} > ${from}/${name}.part
        COMMAND ${CMAKE_COMMAND} -E rename ${from}/${name}.part ${from}/${name}
        DEPENDS thresher_program
        COMMENT "Writing ${name}"
        VERBATIM)
    set(generated ${generated} ${from}/${name} PARENT_SCOPE)
endfunction()
thr_generate(thresher.1 --generate man)
file(STRINGS docs/cli.md commands REGEX "^## thresher ")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/cli.md)
foreach(command IN LISTS commands)
    string(REPLACE "## thresher " "" words "${command}")
    string(REPLACE " " "-" page "${words}")
    string(REPLACE " " ";" words "${words}")
    thr_generate(thresher-${page}.1 ${words} --generate man)
endforeach()
install(FILES ${generated} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
thr_generate(thresher.bash --generate bash-completion)
thr_generate(_thresher --generate zsh-completion)
thr_generate(thresher.fish --generate fish-completion)
add_custom_target(thresher_generated ALL DEPENDS ${generated})
add_custom_target(thresher_installed DEPENDS thresher thresher_program thresher_generated) # all that is installed
if(TARGET thresher_cuda)
    add_dependencies(thresher_installed thresher_cuda)
endif()
install(FILES ${from}/thresher.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME thresher)
install(FILES ${from}/_thresher DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${from}/thresher.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
