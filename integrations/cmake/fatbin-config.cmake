# find_package(fatbin): the functions of Fatbin.cmake, the program fatbin::fatbin, and, in an installation by scripts/install-c,
# the C library as fatbin::c (shared) and fatbin::c_static.
#
# In a checkout, fatbin_DIR is integrations/cmake, and the program is FATBIN_PROGRAM or the first `fatbin` in PATH.
get_filename_component(_fatbin_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(FATBIN_PROGRAM fatbin HINTS "${_fatbin_prefix}/bin")
include("${CMAKE_CURRENT_LIST_DIR}/Fatbin.cmake")

if(FATBIN_PROGRAM AND NOT TARGET fatbin::fatbin)
  add_executable(fatbin::fatbin IMPORTED GLOBAL)
  set_target_properties(fatbin::fatbin PROPERTIES IMPORTED_LOCATION "${FATBIN_PROGRAM}")
endif()

if(EXISTS "${_fatbin_prefix}/include/fatbin.h" AND NOT TARGET fatbin::c)
  add_library(fatbin::c SHARED IMPORTED GLOBAL)
  set_target_properties(fatbin::c PROPERTIES
    IMPORTED_LOCATION "${_fatbin_prefix}/lib/libfatbin.so"
    IMPORTED_SONAME "libfatbin.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_fatbin_prefix}/include")
  add_library(fatbin::c_static STATIC IMPORTED GLOBAL)
  set_target_properties(fatbin::c_static PROPERTIES
    IMPORTED_LOCATION "${_fatbin_prefix}/lib/libfatbin.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_fatbin_prefix}/include"
    INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl")
endif()
unset(_fatbin_prefix)

if(NOT FATBIN_PROGRAM)
  set(fatbin_FOUND FALSE)
  set(fatbin_NOT_FOUND_MESSAGE "fatbin not found: add it to PATH or set FATBIN_PROGRAM")
endif()
