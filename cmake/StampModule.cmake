# Writes STAMP: the size of the file MODULE in bytes, a line break, and the files ROOT (which says when and from what ROOT
# was built) and LIBTORCH (its version header). The plugin compares all of it before it lets the interpreter use the
# module, because clang answers a module that was cut short or belongs to another ROOT with an error, and one of another
# LibTorch not at all (cpp/src/LibTorchModule.cxx).

file(SIZE "${MODULE}" _size)
file(READ "${ROOT}" _root)
file(READ "${LIBTORCH}" _libtorch)
file(WRITE "${STAMP}" "${_size}\n${_root}${_libtorch}")
