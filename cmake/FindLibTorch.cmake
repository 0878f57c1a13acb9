# Finds LibTorch 2.11 in the folder LIBTORCH (the one that holds lib/ and include/).
#
# Makes LibTorch::LibTorch, the CPU libraries without their headers: only the Rust core uses LibTorch's API.
# LibTorch's own package file is not used because it asks for the CUDA toolkit where LibTorch was built with CUDA.

set(LibTorch_LIBRARY_DIR "${LIBTORCH}/lib")
set(_cladtorch_version_file "${LIBTORCH}/share/cmake/Torch/TorchConfigVersion.cmake")
if(NOT EXISTS "${_cladtorch_version_file}")
  message(FATAL_ERROR "'${LIBTORCH}' is not a LibTorch folder: give -DLIBTORCH=DIR with the one that holds lib/ and "
                      "include/, or run 'cargo xtask setup' to have it fetched")
endif()
file(STRINGS "${_cladtorch_version_file}" _cladtorch_version REGEX "set\\(PACKAGE_VERSION ")
string(REGEX MATCH "[0-9][0-9.]*" LibTorch_VERSION "${_cladtorch_version}")
if(NOT LibTorch_VERSION MATCHES "^2\\.11\\.")
  message(FATAL_ERROR "${LIBTORCH} is LibTorch ${LibTorch_VERSION}, but CladTorch needs 2.11.x")
endif()

foreach(_cladtorch_name torch_cpu c10)
  find_library(LibTorch_${_cladtorch_name} ${_cladtorch_name} HINTS "${LibTorch_LIBRARY_DIR}" NO_DEFAULT_PATH)
  mark_as_advanced(LibTorch_${_cladtorch_name})
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_torch_cpu LibTorch_c10 VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    INTERFACE_LINK_LIBRARIES "${LibTorch_torch_cpu};${LibTorch_c10}")
endif()
