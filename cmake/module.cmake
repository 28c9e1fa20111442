# headgauge_objects(TARGET SOURCE...): objects that see all headers of the library. They wait for no
# other target, so that the C++ is compiled beside the Rust crates and the report page. Several
# sources are compiled as one (a unity build); not those that Highway compiles once an instruction
# set, whose foreach_target.h stands in a file once.
option(HEADGAUGE_UNITY "Compile several sources as one: a third of the time for a whole build" ON)

# What takes no time when it runs, JSON above all, is optimised little, and not at all under a
# sanitizer: it is compiled in half the time.
set(HEADGAUGE_COLD results findings experiments report reproduce plan session tasks tokenize cli command)

# Joins the sources that Highway compiles once an instruction set, which an ordinary unity build cannot
# do: foreach_target.h, which they all include, counts once a source, and then includes the joint
# one again for each set.
function(headgauge_join_kernels target)
  set(kernels)
  foreach(source ${ARGN})
    file(STRINGS ${source} per_target REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    if(per_target)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      list(APPEND kernels ${source})
    endif()
  endforeach()
  list(LENGTH kernels count)
  if(NOT HEADGAUGE_UNITY OR count LESS 2)
    return()
  endif()
  math(EXPR last "${count} - 1")
  foreach(first RANGE 0 ${last} 6)
    list(SUBLIST kernels ${first} 6 batch)
    set(joint ${CMAKE_CURRENT_BINARY_DIR}/kernels_from_${first}.cpp)
    set(this "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${joint}\"\n")
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
    list(JOIN includes "" includes)
    file(CONFIGURE OUTPUT ${joint} @ONLY CONTENT
         "#include \"kernels/targets.hpp\"\n@this@#include \"hwy/foreach_target.h\"\n@includes@@this@")
    set_source_files_properties(${batch} PROPERTIES HEADER_FILE_ONLY ON)
    set_source_files_properties(${joint} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${joint})
  endforeach()
endfunction()

function(headgauge_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE
    ${HEADGAUGE_INCLUDE} ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE HEADGAUGE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${target} PRIVATE
    nlohmann_json::nlohmann_json TBB::tbb fmt::fmt Eigen3::Eigen Boost::headers PkgConfig::HWY
    headgauge_warnings)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEADGAUGE_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  string(REGEX REPLACE "^(headgauge|test)_|_objects$" "" module ${target})
  if(HEADGAUGE_SANITIZE AND module IN_LIST HEADGAUGE_COLD)
    target_compile_options(${target} PRIVATE -O0)
  elseif(module IN_LIST HEADGAUGE_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  headgauge_join_kernels(${target} ${ARGN})
endfunction()

# headgauge_module(NAME [EXCEPT FILE...]): the sources of this folder, as a part of the library.
function(headgauge_module name)
  cmake_parse_arguments(arg "" "" "EXCEPT" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(TRANSFORM arg_EXCEPT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM sources ${arg_EXCEPT})
  headgauge_objects(headgauge_${name} ${sources})
  target_sources(headgauge PRIVATE $<TARGET_OBJECTS:headgauge_${name}>)
endfunction()
