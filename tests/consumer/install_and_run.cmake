# Installs Runnel into a fresh prefix, configures and builds consumers against it, and compares what
# they print last with the transcript of a sample: the one of README.md, and those of docs/embedding.md in C++ and
# in C, the latter also without CMake, by pkg-config. The installed tools are checked too.
# cmake -D BUILD_DIR= -D WORK_DIR= -D SOURCE_DIR= -D EMBEDDING_DIR= -D C_COMPILER= -D CXX_COMPILER=
#       -D FLAGS= -D C_LIBRARIES= -D PREFIX_PATH= -D MODEL= -D SAMPLES= -P install_and_run.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
list(JOIN C_LIBRARIES " " c_libraries)
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

# Every tool has completion and a manual page, except in a build with sanitizers.
file(GLOB tools RELATIVE "${prefix}/bin" "${prefix}/bin/*")
set(files share/runnel/models/convert/wenet.py share/runnel/models/reference/positions/scheme.py)
if(NOT FLAGS)
  foreach(tool IN LISTS tools)
    list(APPEND files share/bash-completion/completions/${tool} share/man/man1/${tool}.1)
  endforeach()
  list(APPEND files share/zsh/site-functions/_runnel)
endif()
if(stream_server IN_LIST tools)
  list(APPEND files lib/systemd/system/runnel.service lib/sysusers.d/runnel.conf)
endif()
foreach(file IN LISTS files)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

# Configures and builds a project in C or C++.
function(build source_dir build_dir)
  run("${CMAKE_COMMAND}" -S "${source_dir}" -B "${build_dir}" -G Ninja -D CMAKE_BUILD_TYPE=Release
      --no-warn-unused-cli "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_C_FLAGS=${FLAGS}"
      "-DCMAKE_C_STANDARD_LIBRARIES=${c_libraries}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
  run("${CMAKE_COMMAND}" --build "${build_dir}")
endfunction()

# Runs a program, whose last line must end with the transcript of the sample.
function(expect_transcript sample)
  file(STRINGS "${SAMPLES}/text" transcript REGEX "^${sample} ")
  string(REGEX REPLACE "^${sample} " "" transcript "${transcript}")
  run(${ARGN})
  string(REGEX MATCH "[^\n]*$" last_line "${output}")
  if(NOT last_line MATCHES "(^| )${transcript}$")
    message(FATAL_ERROR "The last line is '${last_line}'; the transcript of ${sample} is '${transcript}'")
  endif()
endfunction()

set(flac "${SAMPLES}/rms_phone_number.flac")
set(digits "${prefix}/share/runnel/models/digits")
expect_transcript(rms_phone_number "${prefix}/bin/runnel" decode "--model=${digits}/digits.pt"
                  "--wav=${digits}/samples/rms_phone_number.flac")
# The installed programs find the reference, in a build that has it.
file(GLOB_RECURSE reference "${prefix}/librunnel_reference-*")
if(reference)
  expect_transcript(rms_phone_number "${prefix}/bin/decode_wav" "--model=${MODEL}" "--wav=${flac}" --backend=libtorch)
endif()
build("${SOURCE_DIR}" "${WORK_DIR}/build")
expect_transcript(rms_phone_number "${WORK_DIR}/build/transcribe" "${MODEL}" "${flac}")

set(languages cpp c)
set(programs live.cc live.c)
foreach(language program IN ZIP_LISTS languages programs)
  file(COPY "${EMBEDDING_DIR}/${program}" DESTINATION "${WORK_DIR}/${language}")
  configure_file("${EMBEDDING_DIR}/${language}_project.cmake"
                 "${WORK_DIR}/${language}/CMakeLists.txt" COPYONLY)
  build("${WORK_DIR}/${language}" "${WORK_DIR}/${language}/build")
endforeach()
expect_transcript(rms_phone_number "${WORK_DIR}/cpp/build/live" "${MODEL}" "${flac}")

file(GLOB_RECURSE library "${prefix}/librunnel.so")
cmake_path(GET library PARENT_PATH library_dir)
set(ENV{PKG_CONFIG_PATH} "${library_dir}/pkgconfig")
run(pkg-config --cflags --libs runnel)
separate_arguments(c_flags UNIX_COMMAND "${output}")
run("${C_COMPILER}" -std=c99 -Wall -Wextra -Wpedantic -Werror ${FLAGS} "${WORK_DIR}/c/live.c"
    ${c_flags} "-Wl,-rpath,${library_dir}" ${C_LIBRARIES} -o "${WORK_DIR}/c/live")
# A WAV file without its 44 bytes of header is PCM.
set(pcm tail --bytes=+45 "${SAMPLES}/rms_telephone.wav" COMMAND)
expect_transcript(rms_telephone ${pcm} "${WORK_DIR}/c/build/live" "${MODEL}" 8000)
expect_transcript(rms_telephone ${pcm} "${WORK_DIR}/c/live" "${MODEL}" 8000)
