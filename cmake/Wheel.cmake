# The component `wheel` of the installation: what `cargo xtask wheel` packs, in the folders where pip is to put it. The plugin
# lies among ROOT's own libraries and headers, so that root.exe, PyROOT and cling find it without any variable. Its C++ modules
# are not part of it: they are made at first use (cpp/src/Modules.cxx), since each belongs to the ROOT of one Python.

# Both lie where a wheel has them relative to the plugin, and find it by their own path.
add_library(cladtorch_first_use SHARED src/wheel/FirstUse.cxx)
add_library(cladtorch_macro SHARED src/wheel/Macro.cxx)
target_include_directories(cladtorch_first_use PRIVATE include src)
foreach(_cladtorch_target cladtorch_first_use cladtorch_macro)
  # As words for the linker: CMake writes a path in one of two ways, by whether the file is there already.
  target_link_libraries(${_cladtorch_target} PRIVATE -L$<TARGET_FILE_DIR:cladtorch> -lcladtorch)
  target_link_options(${_cladtorch_target} PRIVATE LINKER:--no-as-needed LINKER:--allow-shlib-undefined
                      LINKER:--disable-new-dtags)
  add_dependencies(${_cladtorch_target} cladtorch)
  set_target_properties(${_cladtorch_target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endforeach()
set_target_properties(cladtorch_first_use PROPERTIES INSTALL_RPATH "$ORIGIN")
# `.L libcladtorch.so` takes a library of that name from ROOT/macros.
set_target_properties(cladtorch_macro PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")

set(_cladtorch_wheel COMPONENT wheel EXCLUDE_FROM_ALL)
install(FILES "$<TARGET_FILE:cladtorch>" "$<TARGET_FILE:cladtorch_first_use>"
              "${CMAKE_CURRENT_BINARY_DIR}/lib/libcladtorch_rdict.pcm" "${CMAKE_CURRENT_BINARY_DIR}/lib/libcladtorch.rootmap"
  DESTINATION ROOT/lib ${_cladtorch_wheel})
install(FILES "$<TARGET_FILE:cladtorch_macro>" DESTINATION ROOT/macros RENAME libcladtorch.so ${_cladtorch_wheel})
install(FILES modules/CladTorch.modulemap modules/LibTorch.modulemap modules/CladTorchTorch.modulemap modules/LinkDef.h
              src/wheel/first_use.h
  DESTINATION ROOT/lib/cladtorch ${_cladtorch_wheel})
install(DIRECTORY include/CladTorch DESTINATION ROOT/include ${_cladtorch_wheel})
install(DIRECTORY python/cladtorch DESTINATION . ${_cladtorch_wheel} FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
install(DIRECTORY ../root_macros/ DESTINATION cladtorch/macros ${_cladtorch_wheel} FILES_MATCHING
  PATTERN "*.C" PATTERN "*.h" PATTERN "*.py" PATTERN "*.ipynb" PATTERN "__pycache__" EXCLUDE PATTERN ".ipynb_checkpoints" EXCLUDE)
# rust/xtask/src/wheel/documents.rs knows what lies beside the pages.
install(DIRECTORY doc/ DESTINATION cladtorch/doc ${_cladtorch_wheel} FILES_MATCHING PATTERN "*.md")
install(FILES ../CHANGELOG.md ../data/gw_search.png DESTINATION cladtorch/doc ${_cladtorch_wheel})
install(FILES ../rust/src/graph/lower/operators.md DESTINATION cladtorch/doc RENAME operator_table.md ${_cladtorch_wheel})
install(PROGRAMS "${CLADTORCH_COMMAND}" DESTINATION scripts ${_cladtorch_wheel})
install(CODE "
    set(_stage \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(RPATH_SET FILE \"\${_stage}/ROOT/lib/libcladtorch.so\" NEW_RPATH \"\$ORIGIN:\$ORIGIN/../../torch/lib\")
    file(RPATH_REMOVE FILE \"\${_stage}/scripts/cladtorch\")
    # What debuggers need goes beside the wheel: rust/xtask/src/wheel/symbols.rs packs it.
    set(_symbols \"\${CMAKE_INSTALL_PREFIX}-symbols\")
    file(REMOVE_RECURSE \"\${_symbols}\")
    file(MAKE_DIRECTORY \"\${_symbols}\")
    foreach(_file ROOT/lib/libcladtorch.so scripts/cladtorch)
      get_filename_component(_name \"\${_file}\" NAME)
      execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug \"\${_stage}/\${_file}\" \"\${_symbols}/\${_name}.debug\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    foreach(_file ROOT/lib/libcladtorch.so ROOT/lib/libcladtorch_first_use.so ROOT/macros/libcladtorch.so scripts/cladtorch)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\${_stage}/\${_file}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()"
  ${_cladtorch_wheel})
