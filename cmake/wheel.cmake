# SPDX-License-Identifier: Apache-2.0
#
# What a Python wheel holds besides python/thresher: the library, as one file, beside the modules that load it; and the
# program, which pip puts among its scripts.
# A wheel cannot hold symbolic links, so the library's name has no version.
set_property(TARGET thresher PROPERTY VERSION)
set_property(TARGET thresher PROPERTY SOVERSION)
install(TARGETS thresher LIBRARY DESTINATION thresher)

# From where scripts are no path leads to the modules of every Python: the program has a library of its own inside.
set_property(TARGET thresher_program PROPERTY LINK_LIBRARIES thresher_internal Threads::Threads m)
target_include_directories(thresher_program PRIVATE include)
add_dependencies(thresher_program thresher) # which Ninja takes for the name of the program's file
set(SKBUILD_SCRIPTS_DIR bin CACHE PATH "Where a wheel has its scripts; set by scikit-build-core")
install(TARGETS thresher_program RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
