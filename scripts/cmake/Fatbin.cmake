# Judges device code as a part of the build:
#
#   include(Fatbin)
#   fatbin_check(TARGET kernels POLICY gpu.toml)
#
# After TARGET is linked, `fatbin check` looks at it, and what is not as the policy demands is a failure of the build; the
# target is then made again next time. The program is the one that FATBIN_PROGRAM names, or the first in the PATH. Call it
# in the folder that adds the target: CMake takes commands after a link from nowhere else.
cmake_minimum_required(VERSION 3.16)
include_guard(GLOBAL)

function(fatbin_check)
  cmake_parse_arguments(PARSE_ARGV 0 argument "" "TARGET;POLICY" "")
  foreach(name IN ITEMS TARGET POLICY)
    if(NOT argument_${name})
      message(FATAL_ERROR "fatbin_check: ${name} is missing")
    endif()
  endforeach()
  if(argument_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fatbin_check: ${argument_UNPARSED_ARGUMENTS} is not known; it takes TARGET and POLICY")
  endif()
  if(NOT TARGET ${argument_TARGET})
    message(FATAL_ERROR "fatbin_check: ${argument_TARGET} is no target")
  endif()
  get_filename_component(policy "${argument_POLICY}" ABSOLUTE)
  if(NOT EXISTS "${policy}")
    message(FATAL_ERROR "fatbin_check: ${policy} does not exist")
  endif()
  find_program(FATBIN_PROGRAM fatbin)
  if(NOT FATBIN_PROGRAM)
    message(FATAL_ERROR "fatbin_check: fatbin is not in the PATH, and FATBIN_PROGRAM does not name it")
  endif()
  # A policy that changes is a reason to link, and so to judge, again.
  set_property(TARGET ${argument_TARGET} APPEND PROPERTY LINK_DEPENDS "${policy}")
  add_custom_command(
    TARGET ${argument_TARGET}
    POST_BUILD
    COMMAND "${FATBIN_PROGRAM}" check --policy "${policy}" -- "$<TARGET_FILE:${argument_TARGET}>"
    COMMENT "Checking the device code in ${argument_TARGET}"
    VERBATIM)
endfunction()
