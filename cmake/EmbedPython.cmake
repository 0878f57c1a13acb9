# Writes OUTPUT: the number VERSION and the files SOURCES as C++ text, in their order (see cpp/src/python/Python.hxx).

set(_text "#include \"Python.hxx\"\n\nnamespace CladTorch {\nnamespace Internal {\n\nconst PythonSource kPythonSources[] = {\n{\"version.py\", \"VERSION = '${VERSION}'\\n\"},\n")
foreach(_source IN LISTS SOURCES)
  file(READ "${_source}" _content)
  get_filename_component(_name "${_source}" NAME)
  string(APPEND _text "{\"${_name}\", R\"CLADTORCH(${_content})CLADTORCH\"},\n")
endforeach()
string(APPEND _text "{nullptr, nullptr}};\n\n} // namespace Internal\n} // namespace CladTorch\n")
file(WRITE "${OUTPUT}" "${_text}")
