# Installs Runnel into a fresh prefix, configures and builds the consumer against it, and compares what
# it prints last with the transcript of a sample.
# cmake -D BUILD_DIR= -D WORK_DIR= -D SOURCE_DIR= -D CXX_COMPILER= -D CXX_FLAGS= -D PREFIX_PATH=
#       -D MODEL= -D SAMPLES= -P install_and_run.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
list(JOIN PREFIX_PATH ":" prefix_path)  # in the environment the separator is a colon
set(ENV{CMAKE_PREFIX_PATH} "${prefix}:${prefix_path}:$ENV{CMAKE_PREFIX_PATH}")

function(run)
  list(JOIN ARGN " " command)
  message(STATUS "${command}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY ECHO_OUTPUT_VARIABLE
                  OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")

# The installed headers must find each other without the source tree.
set(include_dir "${prefix}/include/runnel")
file(GLOB_RECURSE headers "${include_dir}/*.h")
foreach(header IN LISTS headers)
  file(STRINGS "${header}" includes REGEX "^#include \"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" name "${include}")
    if(NOT EXISTS "${include_dir}/${name}")
      message(FATAL_ERROR "${header} includes ${name}, which is not installed (PUBLIC_HEADERS)")
    endif()
  endforeach()
endforeach()

run("${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" -G Ninja
    -D CMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")

set(sample rms_phone_number)
file(STRINGS "${SAMPLES}/text" transcript REGEX "^${sample} ")
string(REGEX REPLACE "^${sample} " "" transcript "${transcript}")
run("${WORK_DIR}/build/transcribe" "${MODEL}" "${SAMPLES}/${sample}.flac")
string(REGEX MATCH "[^\n]*$" last_line "${output}")
if(NOT last_line STREQUAL transcript)
  message(FATAL_ERROR "The last line is '${last_line}'; the transcript of ${sample} is '${transcript}'")
endif()
