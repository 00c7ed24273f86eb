# Installs Runnel into a fresh prefix, then configures, builds and runs the consumer against it.
# cmake -D BUILD_DIR= -D WORK_DIR= -D SOURCE_DIR= -D CXX_COMPILER= -D CXX_FLAGS= -D PREFIX_PATH=
#       -D ARGUMENTS=<of the program, a list> -P install_and_run.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
list(JOIN PREFIX_PATH ":" prefix_path)  # in the environment the separator is a colon
set(ENV{CMAKE_PREFIX_PATH} "${prefix}:${prefix_path}:$ENV{CMAKE_PREFIX_PATH}")

function(run)
  list(JOIN ARGN " " command)
  message(STATUS "${command}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" -G Ninja
    -D CMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/transcribe" ${ARGUMENTS})
