# Installs the build into an empty folder, builds the examples against nothing else, runs them on
# the demo model, and looks at what they print.
cmake_minimum_required(VERSION 3.25)

set(model ${SOURCE}/demo/model)
set(text ${SOURCE}/demo/text.txt)
if(NOT EXISTS ${model}/model.safetensors OR NOT EXISTS ${text})
  message(STATUS "SKIPPED: there is no demo model")
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: status ${status}\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(GLOB_RECURSE targets ${WORK}/prefix/headgaugeTargets*.cmake)
foreach(file IN LISTS targets)
  file(READ ${file} content)
  string(FIND "${content}" "${SOURCE}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} points into the source tree, so it cannot be moved")
  endif()
endforeach()

file(READ ${model}/config.json config)
string(JSON layers GET "${config}" n_layer)
string(JSON heads GET "${config}" n_head)
math(EXPR expected "${layers} * ${heads}")

# The example NAME prints a line that matches `line` for each head.
function(run_example name line)
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/${name} -B ${WORK}/${name} -G ${GENERATOR}
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${WORK}/${name})
  run(${WORK}/${name}/${name}_example ${model} ${text})
  string(REGEX MATCHALL "${line}\n" lines "${output}")
  list(LENGTH lines found)
  if(NOT found EQUAL expected)
    message(FATAL_ERROR "${name}: expected a line for each of ${expected} heads, found:\n${output}")
  endif()
endfunction()
run_example(scan "head [0-9]+\\.[0-9]+ attends to [0-9]+\\.[0-9] of 32 keys")
run_example(measure "head [0-9]+\\.[0-9]+ puts [01]\\.[0-9]+ on the token before")

# The installed command is the same version.
file(GLOB command ${WORK}/prefix/bin/headgauge)
run(${command} --version)
if(NOT output STREQUAL "headgauge ${VERSION}\n")
  message(FATAL_ERROR "expected headgauge ${VERSION}, found: ${output}")
endif()
file(REMOVE_RECURSE ${WORK})
