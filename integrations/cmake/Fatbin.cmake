# Device code as a part of the build:
#
#   find_package(fatbin REQUIRED)
#   fatbin_wrap(TARGET solver KIND openmp IMAGES $<TARGET_FILE:kernels>)
#   fatbin_embed(TARGET loader SYMBOLS saxpy=saxpy.cubin gemm=gemm.cubin HEADER kernels.h)
#   fatbin_bundle(OUTPUT kernels.hipfb TYPE o TARGETS hipv4-amdgcn-amd-amdhsa--gfx90a=gfx90a.hsaco COMPRESS)
#   fatbin_extract(OUTPUT saxpy.cubin FROM libold.so ARCH sm_90)
#   fatbin_check(TARGET solver POLICY gpu.toml)
#
# fatbin_wrap adds an object of `fatbin wrap` to TARGET, which registers IMAGES with the runtime for KIND. An image is FILE, or
# file=FILE,triple=T,arch=A where its header lacks these. Optional are HOST (a triple, where CMake does not know it), ABI, MATCH (a
# host object), RAW and ENTRIES, each as for `fatbin wrap --entry`.
#
# fatbin_embed adds an object of `fatbin embed` to TARGET. Optional are HEADER, which is on the include path of TARGET, INDEX
# (the name of a table of all files), STYLE (of the symbols), HOST, RETAIN and HIDDEN.
#
# fatbin_bundle writes a bundle of the files in TARGETS, each ID=FILE, and fatbin_extract the only image of FROM that matches ARCH,
# KIND and TRIPLE. OUTPUT is relative to the current binary directory, and an input of other commands in the same directory.
#
# After TARGET is linked, `fatbin check` reads it; a violation fails the build, and the target is built again next time. Call
# fatbin_check in the directory that adds the target: CMake accepts commands after a link only there.
#
# Images and files may be generator expressions, and outputs are built again when they change. The program is FATBIN_PROGRAM, or
# the first `fatbin` in PATH.
cmake_minimum_required(VERSION 3.16)
include_guard(GLOBAL)

# Checks the arguments of a function, which are parsed: unknown ones, those that are required, and TARGET.
macro(_fatbin_begin function expected)
  foreach(name IN ITEMS ${ARGN})
    if(NOT argument_${name})
      message(FATAL_ERROR "${function}: ${name} is missing")
    endif()
  endforeach()
  if(argument_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}: unknown argument ${argument_UNPARSED_ARGUMENTS}; expected ${expected}")
  endif()
  if(DEFINED argument_TARGET AND NOT TARGET ${argument_TARGET})
    message(FATAL_ERROR "${function}: ${argument_TARGET} is not a target")
  endif()
  find_program(FATBIN_PROGRAM fatbin)
  if(NOT FATBIN_PROGRAM)
    message(FATAL_ERROR "${function}: fatbin not found: add it to PATH or set FATBIN_PROGRAM")
  endif()
endmacro()

# Sets `variable` to the absolute path of a source file; a generator expression stays as it is.
function(_fatbin_source variable path)
  if(NOT path MATCHES "\\$<")
    get_filename_component(path "${path}" ABSOLUTE)
  endif()
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

# Sets `variable` to a directory for the outputs of one call. Each call for a target has another directory.
function(_fatbin_directory variable operation text)
  string(SHA256 hash "${text}")
  string(SUBSTRING "${hash}" 0 16 hash)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/fatbin-${operation}/${argument_TARGET}-${hash}")
  file(MAKE_DIRECTORY "${directory}")
  set(${variable} "${directory}" PARENT_SCOPE)
endfunction()

# Appends the host that objects are for to `options`.
macro(_fatbin_host)
  if(argument_HOST)
    list(APPEND options --host "${argument_HOST}")
  elseif(CMAKE_C_COMPILER_TARGET)
    list(APPEND options --host "${CMAKE_C_COMPILER_TARGET}")
  elseif(CMAKE_CXX_COMPILER_TARGET)
    list(APPEND options --host "${CMAKE_CXX_COMPILER_TARGET}")
  endif()
endmacro()

# Adds an object, and further outputs of its command, to the target.
macro(_fatbin_add_object object)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${argument_TARGET} PRIVATE "${object}" ${ARGN})
endmacro()

function(fatbin_wrap)
  cmake_parse_arguments(PARSE_ARGV 0 argument "RAW" "TARGET;KIND;HOST;ABI;MATCH" "IMAGES;ENTRIES")
  _fatbin_begin(fatbin_wrap "TARGET, KIND, IMAGES, HOST, ABI, MATCH, ENTRIES and RAW" TARGET KIND IMAGES)
  _fatbin_directory(directory wrap "${ARGV}")
  set(object "${directory}/images.o")
  set(options --kind "${argument_KIND}" -o "${object}")
  set(files "")
  _fatbin_host()
  foreach(image IN LISTS argument_IMAGES)
    if(NOT image MATCHES "^file=([^,]+)(.*)$")
      string(REGEX MATCH "^(.+)()$" image "${image}")
    endif()
    set(properties "${CMAKE_MATCH_2}")
    _fatbin_source(file "${CMAKE_MATCH_1}")
    list(APPEND files "${file}")
    list(APPEND options --image "file=${file}${properties}")
  endforeach()
  if(argument_ABI)
    list(APPEND options --abi "${argument_ABI}")
  endif()
  if(argument_MATCH)
    _fatbin_source(file "${argument_MATCH}")
    list(APPEND files "${file}")
    list(APPEND options --match "${file}")
  endif()
  foreach(entry IN LISTS argument_ENTRIES)
    list(APPEND options --entry "${entry}")
  endforeach()
  if(argument_RAW)
    list(APPEND options --raw)
  endif()
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${FATBIN_PROGRAM}" wrap ${options}
    DEPENDS ${files} "${FATBIN_PROGRAM}"
    COMMENT "Wrapping device images for ${argument_TARGET}"
    VERBATIM)
  _fatbin_add_object("${object}")
endfunction()

function(fatbin_embed)
  cmake_parse_arguments(PARSE_ARGV 0 argument "RETAIN;HIDDEN" "TARGET;HEADER;INDEX;STYLE;HOST" "SYMBOLS")
  _fatbin_begin(fatbin_embed "TARGET, SYMBOLS, HEADER, INDEX, STYLE, HOST, RETAIN and HIDDEN" TARGET SYMBOLS)
  set(list "")
  set(files "")
  foreach(symbol IN LISTS argument_SYMBOLS)
    if(NOT symbol MATCHES "^([^=]+)=(.+)$")
      message(FATAL_ERROR "fatbin_embed: ${symbol}: expected NAME=FILE")
    endif()
    set(name "${CMAKE_MATCH_1}")
    _fatbin_source(file "${CMAKE_MATCH_2}")
    list(APPEND files "${file}")
    string(APPEND list "${name}=${file}\n")
  endforeach()
  _fatbin_directory(directory embed "${list}")
  # A command line has no room for thousands of files. The list keeps its time unless it changes.
  file(GENERATE OUTPUT "${directory}/symbols" CONTENT "${list}")

  set(object "${directory}/files.o")
  set(header "")
  set(options --symbols-from "${directory}/symbols" -o "${object}")
  if(argument_HEADER)
    set(header "${directory}/${argument_HEADER}")
    list(APPEND options --header "${header}")
    target_include_directories(${argument_TARGET} PRIVATE "${directory}")
  endif()
  if(argument_INDEX)
    list(APPEND options --index "${argument_INDEX}")
  endif()
  if(argument_STYLE)
    list(APPEND options --symbols "${argument_STYLE}")
  endif()
  _fatbin_host()
  foreach(flag IN ITEMS RETAIN HIDDEN)
    if(argument_${flag})
      string(TOLOWER "--${flag}" option)
      list(APPEND options ${option})
    endif()
  endforeach()
  add_custom_command(
    OUTPUT "${object}" ${header}
    COMMAND "${FATBIN_PROGRAM}" embed ${options}
    DEPENDS ${files} "${directory}/symbols" "${FATBIN_PROGRAM}"
    COMMENT "Embedding files in ${argument_TARGET}"
    VERBATIM)
  _fatbin_add_object("${object}" ${header})
endfunction()

function(fatbin_bundle)
  cmake_parse_arguments(PARSE_ARGV 0 argument "COMPRESS" "OUTPUT;TYPE;ALIGN" "TARGETS")
  _fatbin_begin(fatbin_bundle "OUTPUT, TYPE, TARGETS, ALIGN and COMPRESS" OUTPUT TYPE TARGETS)
  get_filename_component(output "${argument_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  set(options --type "${argument_TYPE}" -o "${output}")
  set(files "")
  foreach(target IN LISTS argument_TARGETS)
    if(NOT target MATCHES "^([^=]+)=(.+)$")
      message(FATAL_ERROR "fatbin_bundle: ${target}: expected ID=FILE")
    endif()
    set(id "${CMAKE_MATCH_1}")
    _fatbin_source(file "${CMAKE_MATCH_2}")
    list(APPEND files "${file}")
    list(APPEND options --target "${id}=${file}")
  endforeach()
  if(argument_ALIGN)
    list(APPEND options --align "${argument_ALIGN}")
  endif()
  if(argument_COMPRESS)
    list(APPEND options --compress)
  endif()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${FATBIN_PROGRAM}" bundle ${options}
    DEPENDS ${files} "${FATBIN_PROGRAM}"
    COMMENT "Bundling ${argument_OUTPUT}"
    VERBATIM)
endfunction()

function(fatbin_extract)
  cmake_parse_arguments(PARSE_ARGV 0 argument "" "OUTPUT;FROM;ARCH;KIND;TRIPLE" "")
  _fatbin_begin(fatbin_extract "OUTPUT, FROM, ARCH, KIND and TRIPLE" OUTPUT FROM)
  get_filename_component(output "${argument_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  _fatbin_source(file "${argument_FROM}")
  set(options --to "${output}")
  foreach(filter IN ITEMS ARCH KIND TRIPLE)
    if(argument_${filter})
      string(TOLOWER "--${filter}" option)
      list(APPEND options ${option} "${argument_${filter}}")
    endif()
  endforeach()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${FATBIN_PROGRAM}" extract ${options} -- "${file}"
    DEPENDS "${file}" "${FATBIN_PROGRAM}"
    COMMENT "Extracting ${argument_OUTPUT}"
    VERBATIM)
endfunction()

function(fatbin_check)
  cmake_parse_arguments(PARSE_ARGV 0 argument "" "TARGET;POLICY" "")
  _fatbin_begin(fatbin_check "TARGET and POLICY" TARGET POLICY)
  get_filename_component(policy "${argument_POLICY}" ABSOLUTE)
  if(NOT EXISTS "${policy}")
    message(FATAL_ERROR "fatbin_check: ${policy} does not exist")
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
