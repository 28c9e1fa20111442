# Rust crates behind a C ABI, built by cargo.
set(HEADGAUGE_CARGO_TARGET_DIR ${PROJECT_BINARY_DIR}/cargo CACHE PATH
    "Where cargo builds the Rust crates; builds that share it build them once")
set(HEADGAUGE_RUST_MINIMUM 1.85)

# One cargo at a time: a second would wait for the first in the place of a compiler.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS cargo=1)

# Once, before the first crate.
function(headgauge_find_cargo)
  find_program(HEADGAUGE_CARGO cargo)
  if(NOT HEADGAUGE_CARGO)
    message(FATAL_ERROR "cargo is missing, and the tokenizers are written in Rust: "
                        "apt-get install cargo-web rustc-web, or see https://rustup.rs")
  endif()
  execute_process(COMMAND ${HEADGAUGE_CARGO} --version OUTPUT_VARIABLE cargo_version
                  ERROR_VARIABLE cargo_error RESULT_VARIABLE cargo_result
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT cargo_result EQUAL 0 OR NOT cargo_version MATCHES "^cargo ([0-9]+\\.[0-9]+\\.[0-9]+)")
    message(FATAL_ERROR "${HEADGAUGE_CARGO} --version failed: ${cargo_version}${cargo_error}")
  elseif(CMAKE_MATCH_1 VERSION_LESS HEADGAUGE_RUST_MINIMUM)
    message(FATAL_ERROR "${HEADGAUGE_CARGO} is ${CMAKE_MATCH_1}, expected at least "
                        "${HEADGAUGE_RUST_MINIMUM}: apt-get install cargo-web rustc-web")
  endif()
endfunction()

# headgauge_add_rust(NAME FOLDER SYMBOL...): the crate headgauge-NAME in FOLDER becomes a part of
# the library, linked into one relocatable object that exports these symbols alone. Everything else
# in it becomes local, so that the Rust runtime never meets another one in the same program, and
# libheadgauge.a needs no second library beside it.
function(headgauge_add_rust name crate)
  set(archive ${HEADGAUGE_CARGO_TARGET_DIR}/release/libheadgauge_${name}.a)
  set(whole ${CMAKE_CURRENT_BINARY_DIR}/headgauge_${name}_whole.o)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/headgauge_${name}.o)
  set(roots ${ARGN})
  list(TRANSFORM roots PREPEND --undefined=)
  set(keep ${ARGN})
  list(TRANSFORM keep PREPEND --keep-global-symbol=)

  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E env --unset=RUSTFLAGS --unset=CARGO_BUILD_TARGET
            CARGO_TARGET_DIR=${HEADGAUGE_CARGO_TARGET_DIR}
            ${HEADGAUGE_CARGO} build --quiet --release --locked
            --manifest-path ${crate}/Cargo.toml
    COMMAND ${CMAKE_LINKER} -r --gc-sections --force-group-allocation ${roots}
            -o ${whole} ${archive}
    # What is not needed goes, undefined symbols of dropped sections too: they would turn the weak
    # ones of another Rust library into errors. The bitcode that the Rust library carries stops the
    # ar of a system whose LLVM is older.
    COMMAND ${CMAKE_OBJCOPY} --strip-unneeded --remove-section .llvmbc --remove-section .llvmcmd
            ${keep} ${whole} ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${whole}
    DEPENDS ${crate}/Cargo.toml ${crate}/Cargo.lock ${crate}/src/lib.rs
    COMMENT "Building the ${name} (Rust; a minute or two the first time)"
    JOB_POOL cargo
    VERBATIM)

  set_source_files_properties(${object} TARGET_DIRECTORY headgauge
                              PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_custom_target(headgauge_${name} DEPENDS ${object})
  add_dependencies(headgauge headgauge_${name})
  target_sources(headgauge PRIVATE ${object})
endfunction()
