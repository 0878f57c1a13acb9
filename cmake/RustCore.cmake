# Builds the Rust core, which becomes a target, and the command with cargo.

find_program(CLADTORCH_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin")
if(NOT CLADTORCH_CARGO)
  message(FATAL_ERROR "cargo was not found: install Rust 1.89 or newer (rustup), or give -DCLADTORCH_CARGO=PATH")
endif()
mark_as_advanced(CLADTORCH_CARGO)

set(CLADTORCH_TARGET_DIR "${CLADTORCH_SOURCE_ROOT}/target")
set(CLADTORCH_CORE "${CLADTORCH_TARGET_DIR}/release/libcladtorch.a")
set(CLADTORCH_COMMAND "${CLADTORCH_TARGET_DIR}/release/cladtorch")

# The kernels are a CMake project of their own that cargo starts: let it use the tools of this one.
get_filename_component(_cladtorch_make_dir "${CMAKE_MAKE_PROGRAM}" DIRECTORY)
add_custom_target(cladtorch_core_build
  COMMAND ${CMAKE_COMMAND} -E env "LIBTORCH=${LIBTORCH}" "CMAKE=${CMAKE_COMMAND}" "CMAKE_GENERATOR=${CMAKE_GENERATOR}"
          "PATH=${_cladtorch_make_dir}:$ENV{PATH}" "${CLADTORCH_CARGO}" build --release --lib --bins --package cladtorch
          --target-dir "${CLADTORCH_TARGET_DIR}"
  WORKING_DIRECTORY "${CLADTORCH_SOURCE_ROOT}"
  BYPRODUCTS "${CLADTORCH_CORE}" "${CLADTORCH_COMMAND}"
  COMMENT "Building the Rust core"
  USES_TERMINAL)

add_library(cladtorch_core STATIC IMPORTED)
set_target_properties(cladtorch_core PROPERTIES IMPORTED_LOCATION "${CLADTORCH_CORE}")
add_dependencies(cladtorch_core cladtorch_core_build)
include(VectorMath)
target_link_libraries(cladtorch_core INTERFACE LibTorch::LibTorch Threads::Threads ${CMAKE_DL_LIBS} ${CLADTORCH_LIBMVEC})
