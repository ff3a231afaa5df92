# SPDX-License-Identifier: Apache-2.0
#
# uninstall.cmake - run in a build directory: removes the files of its last installation, and folders left empty.
if(NOT EXISTS install_manifest.txt)
    message(FATAL_ERROR "install_manifest.txt: nothing was installed from this directory")
endif()
file(STRINGS install_manifest.txt files)
foreach(file IN LISTS files)
    file(REMOVE "$ENV{DESTDIR}${file}")
    get_filename_component(dir "$ENV{DESTDIR}${file}" DIRECTORY)
    get_filename_component(name "${dir}" NAME)
    file(GLOB left "${dir}/*")
    if(name STREQUAL "thresher" AND NOT left) # include/thresher, lib/cmake/thresher
        file(REMOVE_RECURSE "${dir}")
    endif()
endforeach()
file(REMOVE install_manifest.txt)
