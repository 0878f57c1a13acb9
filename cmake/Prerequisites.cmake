# Where ROOT and LibTorch are: as given, else as the environment says, else as 'cargo xtask setup' fetched them.

get_filename_component(CLADTORCH_SOURCE_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(CLADTORCH_DEPS "${CLADTORCH_SOURCE_ROOT}/.deps")

find_program(CLADTORCH_ROOT_CONFIG root-config NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(CLADTORCH_ROOT_CONFIG)
if(CLADTORCH_ROOT_CONFIG)
  execute_process(COMMAND "${CLADTORCH_ROOT_CONFIG}" --prefix
                  OUTPUT_VARIABLE _cladtorch_root OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  set(_cladtorch_root "${CLADTORCH_DEPS}/site-packages/ROOT")
endif()
if(NOT "$ENV{ROOTSYS}" STREQUAL "")
  set(_cladtorch_root "$ENV{ROOTSYS}")
endif()
set(ROOTSYS "${_cladtorch_root}" CACHE PATH "ROOT installation")
if(NOT EXISTS "${ROOTSYS}")
  message(FATAL_ERROR "There is no ROOT in '${ROOTSYS}': give -DROOTSYS=DIR, or run 'cargo xtask setup' to have it fetched")
endif()

set(_cladtorch_libtorch "${CLADTORCH_DEPS}/site-packages/torch")
if(NOT "$ENV{LIBTORCH}" STREQUAL "")
  set(_cladtorch_libtorch "$ENV{LIBTORCH}")
endif()
set(LIBTORCH "${_cladtorch_libtorch}" CACHE PATH "LibTorch folder, with lib/ and include/")

# Sets `result` to whether `dir` is part of what the set-up fetched. That goes away with the source tree, so an
# installed plugin must not lean on it.
function(cladtorch_is_fetched dir result)
  file(REAL_PATH "${dir}" _dir)
  file(REAL_PATH "${CLADTORCH_DEPS}" _deps)
  cmake_path(IS_PREFIX _deps "${_dir}" _inside)
  set(${result} ${_inside} PARENT_SCOPE)
endfunction()
