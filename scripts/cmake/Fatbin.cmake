# Embeds and checks device code as parts of the build:
#
#   include(Fatbin)
#   fatbin_embed(TARGET kernels SYMBOLS saxpy=saxpy.cubin gemm=gemm.cubin HEADER kernels.h)
#   fatbin_check(TARGET kernels POLICY gpu.toml)
#
# fatbin_embed adds an object of `fatbin embed` to TARGET. Optional are HEADER, which is on the include path of TARGET, INDEX
# (the name of a table of all files), STYLE (of the symbols), HOST (a triple, where CMake does not know it), RETAIN and HIDDEN.
#
# After TARGET is linked, `fatbin check` reads it; a violation fails the build, and the target is built again next time. Call
# fatbin_check in the directory that adds the target: CMake accepts commands after a link only there.
#
# The program is FATBIN_PROGRAM, or the first `fatbin` in PATH.
cmake_minimum_required(VERSION 3.16)
include_guard(GLOBAL)

macro(_fatbin_find function)
  find_program(FATBIN_PROGRAM fatbin)
  if(NOT FATBIN_PROGRAM)
    message(FATAL_ERROR "${function}: fatbin not found: add it to PATH or set FATBIN_PROGRAM")
  endif()
endmacro()

function(fatbin_embed)
  cmake_parse_arguments(PARSE_ARGV 0 argument "RETAIN;HIDDEN" "TARGET;HEADER;INDEX;STYLE;HOST" "SYMBOLS")
  foreach(name IN ITEMS TARGET SYMBOLS)
    if(NOT argument_${name})
      message(FATAL_ERROR "fatbin_embed: ${name} is missing")
    endif()
  endforeach()
  if(argument_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fatbin_embed: unknown argument ${argument_UNPARSED_ARGUMENTS}; expected TARGET, SYMBOLS, "
                        "HEADER, INDEX, STYLE, HOST, RETAIN and HIDDEN")
  endif()
  if(NOT TARGET ${argument_TARGET})
    message(FATAL_ERROR "fatbin_embed: ${argument_TARGET} is not a target")
  endif()
  _fatbin_find(fatbin_embed)

  set(list "")
  set(files "")
  foreach(symbol IN LISTS argument_SYMBOLS)
    if(NOT symbol MATCHES "^([^=]+)=(.+)$")
      message(FATAL_ERROR "fatbin_embed: ${symbol}: expected NAME=FILE")
    endif()
    set(name "${CMAKE_MATCH_1}")
    get_filename_component(file "${CMAKE_MATCH_2}" ABSOLUTE)
    list(APPEND files "${file}")
    string(APPEND list "${name}=${file}\n")
  endforeach()
  # Two calls for one target have different symbols.
  string(SHA256 hash "${list}")
  string(SUBSTRING "${hash}" 0 16 hash)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/fatbin-embed/${argument_TARGET}-${hash}")
  file(MAKE_DIRECTORY "${directory}")
  # A command line has no room for thousands of files. The list keeps its time unless it changes.
  file(GENERATE OUTPUT "${directory}/symbols" CONTENT "${list}")

  set(object "${directory}/files.o")
  set(outputs "${object}")
  set(options --symbols-from "${directory}/symbols" -o "${object}")
  if(argument_HEADER)
    list(APPEND options --header "${directory}/${argument_HEADER}")
    list(APPEND outputs "${directory}/${argument_HEADER}")
    target_include_directories(${argument_TARGET} PRIVATE "${directory}")
  endif()
  if(argument_INDEX)
    list(APPEND options --index "${argument_INDEX}")
  endif()
  if(argument_STYLE)
    list(APPEND options --symbols "${argument_STYLE}")
  endif()
  if(argument_HOST)
    list(APPEND options --host "${argument_HOST}")
  elseif(CMAKE_C_COMPILER_TARGET)
    list(APPEND options --host "${CMAKE_C_COMPILER_TARGET}")
  endif()
  foreach(flag IN ITEMS RETAIN HIDDEN)
    if(argument_${flag})
      string(TOLOWER "--${flag}" option)
      list(APPEND options ${option})
    endif()
  endforeach()
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND "${FATBIN_PROGRAM}" embed ${options}
    DEPENDS ${files} "${directory}/symbols"
    COMMENT "Embedding files in ${argument_TARGET}"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${argument_TARGET} PRIVATE ${outputs})
endfunction()

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
  _fatbin_find(fatbin_check)
  # A changed policy requires a new link, and so a new check.
  set_property(TARGET ${argument_TARGET} APPEND PROPERTY LINK_DEPENDS "${policy}")
  add_custom_command(
    TARGET ${argument_TARGET}
    POST_BUILD
    COMMAND "${FATBIN_PROGRAM}" check --policy "${policy}" -- "$<TARGET_FILE:${argument_TARGET}>"
    COMMENT "Checking the device code in ${argument_TARGET}"
    VERBATIM)
endfunction()
