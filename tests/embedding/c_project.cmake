# A project in C that embeds Runnel from an installed copy.
cmake_minimum_required(VERSION 3.25)
project(RunnelLive LANGUAGES C)

find_package(Runnel 0.2 REQUIRED COMPONENTS c)
add_executable(live live.c)
target_link_libraries(live PRIVATE Runnel::c)
