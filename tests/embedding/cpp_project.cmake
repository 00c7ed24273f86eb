# A project in C++ that embeds Runnel from an installed copy.
cmake_minimum_required(VERSION 3.25)
project(RunnelLive LANGUAGES CXX)

find_package(Runnel 0.2 REQUIRED)
add_executable(live live.cc)
target_link_libraries(live PRIVATE Runnel::runtime)
