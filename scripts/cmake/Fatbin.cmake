# Checks device code as a part of the build:
#
#   include(Fatbin)
#   fatbin_check(TARGET kernels POLICY gpu.toml)
#
# After TARGET is linked, `fatbin check` reads it; a violation fails the build, and the target is built again next time. The
# program is FATBIN_PROGRAM, or the first `fatbin` in PATH. Call the function in the directory that adds the target: CMake
# accepts commands after a link only there.
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
    message(FATAL_ERROR "fatbin_check: unknown argument ${argument_UNPARSED_ARGUMENTS}; expected TARGET and POLICY")
  endif()
  if(NOT TARGET ${argument_TARGET})
    message(FATAL_ERROR "fatbin_check: ${argument_TARGET} is not a target")
  endif()
  get_filename_component(policy "${argument_POLICY}" ABSOLUTE)
  if(NOT EXISTS "${policy}")
    message(FATAL_ERROR "fatbin_check: ${policy} does not exist")
  endif()
  find_program(FATBIN_PROGRAM fatbin)
  if(NOT FATBIN_PROGRAM)
    message(FATAL_ERROR "fatbin_check: fatbin not found: add it to PATH or set FATBIN_PROGRAM")
  endif()
  # A changed policy requires a new link, and so a new check.
  set_property(TARGET ${argument_TARGET} APPEND PROPERTY LINK_DEPENDS "${policy}")
  add_custom_command(
    TARGET ${argument_TARGET}
    POST_BUILD
    COMMAND "${FATBIN_PROGRAM}" check --policy "${policy}" -- "$<TARGET_FILE:${argument_TARGET}>"
    COMMENT "Checking the device code in ${argument_TARGET}"
    VERBATIM)
endfunction()
