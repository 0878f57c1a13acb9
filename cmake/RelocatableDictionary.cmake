# Copies the dictionary INPUT to OUTPUT, and completes its ROOTMAP.

# Without the include paths that rootcling records in it: they name folders of the machine that built it, and
# `-excludePath` does not reach them all. The plugin finds its headers by itself.

file(READ "${INPUT}" _text)
string(REGEX REPLACE "includePaths\\[\\] = {[^}]*}" "includePaths[] = {nullptr}" _clean "${_text}")
if(_clean STREQUAL _text)
  message(FATAL_ERROR "${INPUT} lists no include paths: this ROOT writes dictionaries in another form")
endif()

# Nor does it hand its forward declarations to the interpreter, which has read the headers by then (cpp/src/Modules.cxx).
# Declared while a macro is read, they would be undone with it where that has an error, and take along what the module
# says of the same classes.
string(REPLACE "payloadCode, fwdDeclCode," "payloadCode, nullptr," _text "${_clean}")
if(_text STREQUAL _clean)
  message(FATAL_ERROR "${INPUT} hands over no forward declarations: this ROOT writes dictionaries in another form")
endif()
file(WRITE "${OUTPUT}" "${_text}")

# After `using namespace CladTorch` ROOT looks for a class neither by its qualified name nor in the rootmap, unless the
# rootmap declares it: then ROOT loads the plugin to complete it.
file(READ "${ROOTMAP}" _text)
string(REGEX MATCHALL "class CladTorch::[A-Za-z]+\n" _classes "${_text}")
list(TRANSFORM _classes REPLACE "class CladTorch::(.+)\n" "class \\1" OUTPUT_VARIABLE _declared)
list(JOIN _declared "; " _declared)
string(REGEX REPLACE "\nnamespace CladTorch {[a-zA-Z ;]*}" "\nnamespace CladTorch { ${_declared}; }" _complete "${_text}")
if(NOT _declared OR NOT _complete MATCHES "class Dataset; ")
  message(FATAL_ERROR "${ROOTMAP} lists no classes: this ROOT writes rootmaps in another form")
endif()
file(WRITE "${ROOTMAP}" "${_complete}")
