# The names of all metrics of catalogue/, so that a misspelt one does not compile: constants in
# headgauge/metric_names.hpp; for the Python package, and mypy, a type in python/headgauge/_metric_names.py,
# beside the sources, where editors look. The configuration writes them, so that no object waits for them. A
# change of the catalogue configures again; a file is only rewritten if its content changes.
file(GLOB catalogue CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/catalogue/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
set(constants)
set(names)
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
    if(kind STREQUAL hidden)
      continue()
    endif()
    string(APPEND names "    \"${name}\",\n")
    if(by_position)
      string(APPEND constants
             "inline constexpr char ${name}_by_position[] = \"${name}_by_position\";\n")
      string(APPEND names "    \"${name}_by_position\",\n")
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
if(HEADGAUGE_PYTHON)
  file(CONFIGURE OUTPUT ${PROJECT_SOURCE_DIR}/python/headgauge/_metric_names.py @ONLY CONTENT
       "\"\"\"The names of all metrics. Written by cmake/metric_names.cmake from catalogue/.\"\"\"

from typing import Literal

MetricName = Literal[
@names@]
")
endif()
