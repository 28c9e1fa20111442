# headgauge/metric_names.hpp: a constant for the name of every metric of catalogue/, so that a
# misspelt name does not compile. The configuration writes it, so that no object waits for it. A
# change of the catalogue configures again; the file is only rewritten if its content changes.
file(GLOB catalogue CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/catalogue/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
set(constants)
foreach(path ${catalogue})
  file(READ ${path} text)
  string(JSON metrics ERROR_VARIABLE fault GET "${text}" metrics)
  if(fault)
    message(FATAL_ERROR "${path}: ${fault}")
  endif()
  string(JSON count LENGTH "${metrics}")
  math(EXPR last "${count} - 1")
  foreach(place RANGE ${last})
    string(JSON name GET "${metrics}" ${place} name)
    string(APPEND constants "inline constexpr char ${name}[] = \"${name}\";\n")
    string(JSON kind GET "${metrics}" ${place} kind)
    string(JSON by_position ERROR_VARIABLE absent GET "${metrics}" ${place} by_position)
    if(by_position AND NOT kind STREQUAL hidden)
      string(APPEND constants
             "inline constexpr char ${name}_by_position[] = \"${name}_by_position\";\n")
    endif()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/headgauge/metric_names.hpp @ONLY CONTENT
     "// The names of all metrics. Written by cmake/metric_names.cmake from catalogue/.
#pragma once

namespace headgauge::metric {

@constants@
}  // namespace headgauge::metric
")
