/// \file Macro.cxx
/// \brief Becomes ROOT/macros/libcladtorch.so of a wheel, which does nothing but need the plugin: `.L libcladtorch.so` looks for
/// libraries where macros are.
