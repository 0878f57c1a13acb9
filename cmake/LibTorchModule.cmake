# LibTorch's headers as a C++ module for ROOT's interpreter, lib/cladtorch/LibTorch.pcm: what makes
# `#include <CladTorch/Torch.hxx>` take a second at the prompt instead of a minute.
#
# It is made again when ROOT or LibTorch changes. Clang names the headers relative to the module map as long as they are
# reached through its folder, hence the link `include` there.

option(CLADTORCH_LIBTORCH_MODULE "Make the C++ module of LibTorch's headers (160 MB, a minute)" ON)

set(CLADTORCH_MODULE_DIR "${CMAKE_CURRENT_BINARY_DIR}/lib/cladtorch")
file(MAKE_DIRECTORY "${CLADTORCH_MODULE_DIR}")
file(CREATE_LINK "${LIBTORCH}/include" "${CLADTORCH_MODULE_DIR}/include" SYMBOLIC)

if(CLADTORCH_LIBTORCH_MODULE AND NOT ROOT_runtime_cxxmodules_FOUND)
  message(STATUS "This ROOT was built without C++ modules: #include <CladTorch/Torch.hxx> will take a minute at the prompt")
elseif(CLADTORCH_LIBTORCH_MODULE)
  set(_cladtorch_header "${CMAKE_CURRENT_SOURCE_DIR}/include/CladTorch/Torch/LibTorch.hxx")
  set(_cladtorch_selection "${CMAKE_CURRENT_SOURCE_DIR}/libtorch/LinkDef.h")
  set(_cladtorch_map "${CLADTORCH_MODULE_DIR}/cladtorch.modulemap")
  set(_cladtorch_torch_version "${LIBTORCH}/include/torch/headeronly/version.h")
  set(_cladtorch_stamp "${CLADTORCH_SOURCE_ROOT}/cmake/StampModule.cmake")
  find_file(ROOT_GITINFO gitinfo.txt PATHS "${ROOT_BINDIR}/.." PATH_SUFFIXES etc etc/root REQUIRED NO_DEFAULT_PATH)
  mark_as_advanced(ROOT_GITINFO)
  configure_file(libtorch/cladtorch.modulemap "${_cladtorch_map}" COPYONLY)
  add_custom_command(OUTPUT lib/cladtorch/LibTorch.pcm lib/cladtorch/LibTorch.stamp
    BYPRODUCTS LibTorchModule.cxx
    # rootcling derives the module's name from the library's.
    COMMAND $<TARGET_FILE:ROOT::rootcling> -f LibTorchModule.cxx -s lib/cladtorch/libLibTorch.so -cxxmodule
            "-moduleMapFile=${_cladtorch_map}" "-I${CMAKE_CURRENT_BINARY_DIR}/include"
            "-I${CLADTORCH_MODULE_DIR}/include" "-I${CLADTORCH_MODULE_DIR}/include/torch/csrc/api/include"
            CladTorch/Torch/LibTorch.hxx "${_cladtorch_selection}"
    COMMAND ${CMAKE_COMMAND} -DMODULE=lib/cladtorch/LibTorch.pcm "-DROOT=${ROOT_GITINFO}"
            "-DLIBTORCH=${_cladtorch_torch_version}" -DSTAMP=lib/cladtorch/LibTorch.stamp -P "${_cladtorch_stamp}"
    DEPENDS "${_cladtorch_header}" "${_cladtorch_selection}" "${_cladtorch_map}" "${_cladtorch_stamp}"
            "${_cladtorch_torch_version}" "${ROOT_GITINFO}" $<TARGET_FILE:ROOT::rootcling>
    COMMENT "Making the C++ module of LibTorch's headers (about a minute)"
    VERBATIM)
  add_custom_target(cladtorch_libtorch_module ALL
    DEPENDS "${CLADTORCH_MODULE_DIR}/LibTorch.pcm" "${CLADTORCH_MODULE_DIR}/LibTorch.stamp")
  install(FILES "${CLADTORCH_MODULE_DIR}/LibTorch.pcm" "${CLADTORCH_MODULE_DIR}/LibTorch.stamp" "${_cladtorch_map}"
    DESTINATION lib/cladtorch)
endif()
