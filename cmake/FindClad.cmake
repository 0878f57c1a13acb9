# Finds a clang++ and a Clad plugin that it can load: the same search as `cargo xtask gradients`. Nothing is built with
# them here; they decide whether derivatives can be made on this machine.
#
#   Clad_FOUND        both were found, and the compiler loads the plugin
#   Clad_PLUGIN       the plugin, clad.so
#   Clad_INCLUDE_DIR  the folder of clad/Differentiator/Differentiator.h
#   Clad_COMPILER     the clang++ that loads it
#   Clad_VERSION      as the headers state it
#
# Looks only in CLAD_ROOT (variable or environment) where that is set.
include(FindPackageHandleStandardArgs)

set(_clad_prefixes ${CLAD_ROOT} $ENV{CLAD_ROOT})
if(NOT _clad_prefixes)
  set(_clad_prefixes $ENV{CONDA_PREFIX} $ENV{ROOTSYS}/etc/cling/plugins /usr/local /usr)
endif()

find_file(Clad_PLUGIN clad.so PATHS ${_clad_prefixes} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
if(Clad_PLUGIN) # Its own headers, not those of another installation.
  get_filename_component(_clad_prefix ${Clad_PLUGIN}/../.. ABSOLUTE)
  find_path(Clad_INCLUDE_DIR clad/Differentiator/Differentiator.h PATHS ${_clad_prefix}/include NO_DEFAULT_PATH)
endif()

# A plugin works with the clang version that it was built for, so each compiler is tried.
if(Clad_PLUGIN AND NOT Clad_COMPILER)
  set(_clad_names clang++)
  foreach(_clad_version RANGE 23 14 -1)
    list(APPEND _clad_names clang++-${_clad_version})
  endforeach()
  foreach(_clad_name IN LISTS _clad_names)
    find_program(_clad_candidate ${_clad_name} HINTS ${_clad_prefixes} PATH_SUFFIXES bin NO_CACHE)
    if(_clad_candidate)
      execute_process(
        COMMAND ${_clad_candidate} -fplugin=${Clad_PLUGIN} -fsyntax-only -x c++ /dev/null
        RESULT_VARIABLE _clad_result OUTPUT_QUIET ERROR_QUIET)
      if(_clad_result EQUAL 0)
        set(Clad_COMPILER ${_clad_candidate} CACHE FILEPATH "The clang++ that loads the Clad plugin")
        break()
      endif()
    endif()
    unset(_clad_candidate)
  endforeach()
endif()

if(Clad_INCLUDE_DIR AND EXISTS ${Clad_INCLUDE_DIR}/clad/Differentiator/Version.inc)
  file(STRINGS ${Clad_INCLUDE_DIR}/clad/Differentiator/Version.inc _clad_line REGEX "CLAD_VERSION_STRING")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" Clad_VERSION "${_clad_line}")
endif()

find_package_handle_standard_args(Clad
  REQUIRED_VARS Clad_PLUGIN Clad_INCLUDE_DIR Clad_COMPILER
  VERSION_VAR Clad_VERSION)
mark_as_advanced(Clad_PLUGIN Clad_INCLUDE_DIR Clad_COMPILER)
