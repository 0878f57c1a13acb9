# Runs at installation: puts LIBTORCH's runtime libraries, what they need, and its headers into DESTINATION.
# Called where LibTorch was fetched into the source tree, which may be gone when the plugin is used.
#
# Expects LIBTORCH, DEPS (the folder of what was fetched) and DESTINATION.

file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES "${LIBTORCH}/lib/libtorch_cpu.so" "${LIBTORCH}/lib/libc10.so"
  RESOLVED_DEPENDENCIES_VAR _needed
  UNRESOLVED_DEPENDENCIES_VAR _missing)
if(_missing)
  message(FATAL_ERROR "LibTorch needs libraries that were not found: ${_missing}")
endif()

file(REAL_PATH "${DEPS}" _deps)
file(MAKE_DIRECTORY "${DESTINATION}")
list(APPEND _needed "${LIBTORCH}/lib/libtorch_cpu.so" "${LIBTORCH}/lib/libc10.so")
list(REMOVE_DUPLICATES _needed)
# A hard link saves half a gigabyte where source and destination share a file system.
foreach(_library ${_needed})
  file(REAL_PATH "${_library}" _file)
  cmake_path(IS_PREFIX _deps "${_file}" _fetched)
  if(_fetched)
    get_filename_component(_name "${_library}" NAME)
    message(STATUS "Installing: ${DESTINATION}/${_name}")
    file(CREATE_LINK "${_file}" "${DESTINATION}/${_name}" COPY_ON_ERROR)
  endif()
endforeach()

message(STATUS "Installing: ${DESTINATION}/include")
file(GLOB_RECURSE _headers RELATIVE "${LIBTORCH}/include" "${LIBTORCH}/include/*")
foreach(_header ${_headers})
  cmake_path(GET _header PARENT_PATH _folder)
  file(MAKE_DIRECTORY "${DESTINATION}/include/${_folder}")
  file(CREATE_LINK "${LIBTORCH}/include/${_header}" "${DESTINATION}/include/${_header}" COPY_ON_ERROR)
endforeach()
