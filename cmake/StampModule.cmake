# Writes STAMP: the size of the file MODULE in bytes, a line break, and the files that the list VERSIONS names: one says
# when and from what ROOT was built, another is LibTorch's version header. The plugin compares all of it before it lets
# the interpreter use the module, because clang answers a module that was cut short or belongs to another ROOT with an
# error, and one of another LibTorch not at all (cpp/src/Modules.cxx).

file(SIZE "${MODULE}" _size)
set(_text "${_size}\n")
foreach(_version IN LISTS VERSIONS)
  file(READ "${_version}" _content)
  string(APPEND _text "${_content}")
endforeach()
file(WRITE "${STAMP}" "${_text}")
