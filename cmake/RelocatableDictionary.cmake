# Copies the dictionary INPUT to OUTPUT without the include paths that rootcling records in it: they name folders of the
# machine that built it, and `-excludePath` does not reach them all. The plugin finds its headers by itself.

file(READ "${INPUT}" _text)
string(REGEX REPLACE "includePaths\\[\\] = {[^}]*}" "includePaths[] = {nullptr}" _clean "${_text}")
if(_clean STREQUAL _text)
  message(FATAL_ERROR "${INPUT} lists no include paths: this ROOT writes dictionaries in another form")
endif()
file(WRITE "${OUTPUT}" "${_clean}")
