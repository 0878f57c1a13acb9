# Warnings of our own sources. They are errors only with the compiler that was tried: what another one finds is worth
# reading, but must not stop who only wants to use the plugin.

set(CLADTORCH_WARNINGS -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  list(APPEND CLADTORCH_WARNINGS -Werror)
endif()
