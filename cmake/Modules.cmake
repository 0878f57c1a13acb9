# Headers as C++ modules for ROOT's interpreter, in lib/cladtorch:
#
# | module | of | for |
# |---|---|---|
# | CladTorch | CladTorch/Headers.hxx | ROOT forgets what a faulty macro declared, and fails on ours unless it is a module's |
# | LibTorch | CladTorch/Torch/LibTorch.hxx | `#include <CladTorch/Torch.hxx>` in a second at the prompt instead of a minute |
# | CladTorchTorch | CladTorch/Torch/Headers.hxx | as CladTorch |
#
# They are made again when ROOT, LibTorch or a header changes. Clang names the headers relative to the module map as long
# as they are reached through its folder, hence the link `include` there.

option(CLADTORCH_LIBTORCH_MODULE "Make the C++ module of LibTorch's headers (160 MB, a minute)" ON)

set(CLADTORCH_MODULE_DIR "${CMAKE_CURRENT_BINARY_DIR}/lib/cladtorch")
file(MAKE_DIRECTORY "${CLADTORCH_MODULE_DIR}")
file(CREATE_LINK "${LIBTORCH}/include" "${CLADTORCH_MODULE_DIR}/include" SYMBOLIC)

# cladtorch_module(NAME HEADER VERSIONS ... DEPENDS ...): lib/cladtorch/NAME.pcm from the one header HEADER, with the map
# modules/NAME.modulemap and the stamp of the files VERSIONS.
function(cladtorch_module NAME HEADER)
  cmake_parse_arguments(PARSE_ARGV 2 _module "" "" "VERSIONS;DEPENDS")
  set(_selection "${CMAKE_CURRENT_SOURCE_DIR}/modules/LinkDef.h")
  set(_map "${CLADTORCH_MODULE_DIR}/${NAME}.modulemap")
  set(_stamp "${CLADTORCH_SOURCE_ROOT}/cmake/StampModule.cmake")
  set(_made "${CLADTORCH_MODULE_DIR}/${NAME}.pcm" "${CLADTORCH_MODULE_DIR}/${NAME}.stamp")
  configure_file("modules/${NAME}.modulemap" "${_map}" COPYONLY)
  set(_maps "-moduleMapFile=${_map}")
  foreach(_other IN LISTS _module_DEPENDS)
    if(_other MATCHES "\\.pcm$")
      string(REGEX REPLACE "\\.pcm$" ".modulemap" _other_map "${_other}")
      list(APPEND _maps "-moduleMapFile=${_other_map}")
    endif()
  endforeach()
  add_custom_command(OUTPUT lib/cladtorch/${NAME}.pcm lib/cladtorch/${NAME}.stamp
    BYPRODUCTS ${NAME}Module.cxx
    # rootcling derives the module's name from the library's.
    COMMAND $<TARGET_FILE:ROOT::rootcling> -f ${NAME}Module.cxx -s lib/cladtorch/lib${NAME}.so -cxxmodule ${_maps}
            "-I${CMAKE_CURRENT_BINARY_DIR}/include" "-I${CLADTORCH_MODULE_DIR}/include"
            "-I${CLADTORCH_MODULE_DIR}/include/torch/csrc/api/include" "${HEADER}" "${_selection}"
    COMMAND ${CMAKE_COMMAND} -DMODULE=lib/cladtorch/${NAME}.pcm "-DVERSIONS=${_module_VERSIONS}"
            -DSTAMP=lib/cladtorch/${NAME}.stamp -P "${_stamp}"
    DEPENDS "${_selection}" "${_map}" "${_stamp}" ${_module_VERSIONS} ${_module_DEPENDS} $<TARGET_FILE:ROOT::rootcling>
    COMMENT "Making the C++ module ${NAME}"
    VERBATIM)
  string(TOLOWER "cladtorch_${NAME}_module" _target)
  add_custom_target(${_target} ALL DEPENDS ${_made})
  install(FILES ${_made} "${_map}" DESTINATION lib/cladtorch)
endfunction()

if(NOT ROOT_runtime_cxxmodules_FOUND)
  message(WARNING "This ROOT was built without C++ modules: #include <CladTorch/Torch.hxx> will take a minute at the "
                  "prompt, and ROOT will not survive typing errors in macros that include CladTorch's headers")
else()
  find_file(ROOT_GITINFO gitinfo.txt PATHS "${ROOT_BINDIR}/.." PATH_SUFFIXES etc etc/root REQUIRED NO_DEFAULT_PATH)
  mark_as_advanced(ROOT_GITINFO)
  list(TRANSFORM CLADTORCH_HEADERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/include/" OUTPUT_VARIABLE _cladtorch_headers)
  list(APPEND _cladtorch_headers "${CMAKE_CURRENT_SOURCE_DIR}/include/CladTorch/Headers.hxx")
  cladtorch_module(CladTorch CladTorch/Headers.hxx VERSIONS "${ROOT_GITINFO}" DEPENDS ${_cladtorch_headers})
  if(CLADTORCH_LIBTORCH_MODULE)
    set(_cladtorch_versions "${ROOT_GITINFO}" "${LIBTORCH}/include/torch/headeronly/version.h")
    set(_cladtorch_torch "${CMAKE_CURRENT_SOURCE_DIR}/include/CladTorch/Torch")
    cladtorch_module(LibTorch CladTorch/Torch/LibTorch.hxx VERSIONS ${_cladtorch_versions}
      DEPENDS "${_cladtorch_torch}/LibTorch.hxx")
    file(GLOB _cladtorch_torch_headers CONFIGURE_DEPENDS "${_cladtorch_torch}/*.hxx")
    cladtorch_module(CladTorchTorch CladTorch/Torch/Headers.hxx VERSIONS ${_cladtorch_versions}
      DEPENDS ${_cladtorch_torch_headers} "${CLADTORCH_MODULE_DIR}/CladTorch.pcm" "${CLADTORCH_MODULE_DIR}/LibTorch.pcm")
  endif()
endif()
