# Writes bash/runnel and zsh/_runnel, the completion of runnel and the tools, from what they print for --help:
#   cmake -D "TOOLS=/path/of/decode_wav;..." -D FRONT=/path/of/runnel -P completion.cmake

set(tool_names "")
set(bash_flags "")
set(zsh_flags "")
foreach(path IN LISTS TOOLS)
  cmake_path(GET path FILENAME tool)
  execute_process(COMMAND "${path}" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  # A flag begins a line and is followed by its type, unless it is a switch: "  --model=TEXT".
  string(REGEX MATCHALL "\n  --[a-z0-9_]+=?" flags "${help}\n  --version")
  list(TRANSFORM flags STRIP)
  list(APPEND tool_names ${tool})
  list(JOIN flags " " words)
  string(APPEND bash_flags "    ${tool}) words='${words}' ;;\n")
  list(TRANSFORM flags REPLACE "(.+)=" "\\1=:value:_files")
  list(JOIN flags " " words)
  string(APPEND zsh_flags "  ${tool}) flags=(${words}) ;;\n")
endforeach()
list(JOIN tool_names " " tool_names)

execute_process(COMMAND "${FRONT}" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
# "  decode      recognises speech in audio files (decode_wav)"
string(REGEX MATCHALL "\n  [a-z-]+ +[^\n]+ [(][a-z_.]+[)]" lines "${help}")
set(command_names "")
set(command_tools "")
set(zsh_commands "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^\n  ([a-z-]+) +(.+) [(]([a-z_.]+)[)]$" matched "${line}")
  list(APPEND command_names ${CMAKE_MATCH_1})
  string(APPEND command_tools "      ${CMAKE_MATCH_1}) tool=${CMAKE_MATCH_3} ;;\n")
  string(APPEND zsh_commands "    '${CMAKE_MATCH_1}:${CMAKE_MATCH_2}'\n")
endforeach()
list(JOIN command_names " " command_names)

configure_file("${CMAKE_CURRENT_LIST_DIR}/completion.bash.in" bash/runnel @ONLY)
configure_file("${CMAKE_CURRENT_LIST_DIR}/completion.zsh.in" zsh/_runnel @ONLY)
