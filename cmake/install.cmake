# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where: library, headers, thresher.pc, CMake package, program, manual, completion.
include(CMakePackageConfigHelpers)

install(TARGETS thresher EXPORT thresherTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
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

# thresher.pc is written while installing, because --prefix may name another place than the one configured.
install(CODE "
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
    set(THR_PC_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(THR_PC_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    string(REPLACE \" \" \"\\\\ \" THR_PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\") # a blank would end the word
    foreach(dir THR_PC_LIBDIR THR_PC_INCLUDEDIR)
        if(NOT IS_ABSOLUTE \"\${\${dir}}\")
            set(\${dir} \"\\\${prefix}/\${\${dir}}\")
        endif()
    endforeach()
    configure_file(\"${PROJECT_SOURCE_DIR}/cmake/thresher.pc.in\" \"${PROJECT_BINARY_DIR}/thresher.pc\" @ONLY)
")
install(FILES ${PROJECT_BINARY_DIR}/thresher.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

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
set(generated "")
foreach(pair "man:thresher.1" "bash-completion:thresher.bash" "zsh-completion:_thresher" "fish-completion:thresher.fish")
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 kind)
    list(GET pair 1 name)
    set(path ${PROJECT_BINARY_DIR}/generated/${name})
    add_custom_command(
        OUTPUT ${path}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
        COMMAND thresher_program --generate ${kind} > ${path}.part
        COMMAND ${CMAKE_COMMAND} -E rename ${path}.part ${path}
        DEPENDS thresher_program
        COMMENT "Writing ${name}"
        VERBATIM)
    list(APPEND generated ${path})
endforeach()
add_custom_target(thresher_generated ALL DEPENDS ${generated})
add_custom_target(thresher_installed DEPENDS thresher thresher_program thresher_generated) # all that is installed
if(TARGET thresher_cuda)
    add_dependencies(thresher_installed thresher_cuda)
endif()
set(from ${PROJECT_BINARY_DIR}/generated)
install(FILES ${from}/thresher.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${from}/thresher.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME thresher)
install(FILES ${from}/_thresher DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${from}/thresher.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
