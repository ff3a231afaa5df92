# SPDX-License-Identifier: Apache-2.0
#
# What a Python wheel holds besides python/thresher: the library, as one file, beside the modules that load it.
# A wheel knows no symbolic links, so the library's name has no version.
set_property(TARGET thresher PROPERTY VERSION)
set_property(TARGET thresher PROPERTY SOVERSION)
install(TARGETS thresher LIBRARY DESTINATION thresher)
