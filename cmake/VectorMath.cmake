# CLADTORCH_LIBMVEC: the library with the vector forms of the mathematical functions (glibc 2.35 on), where compiler and linker
# take them; else empty.

include(CheckCXXSourceCompiles)

set(CLADTORCH_LIBMVEC "")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$"
   AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_REQUIRED_FLAGS "-O3 -fno-math-errno")
  set(CMAKE_REQUIRED_LIBRARIES mvec)
  check_cxx_source_compiles([[
    extern "C" {
    __attribute__((__simd__("notinbranch"))) double atan2(double, double) noexcept;
    void _ZGVbN2vv_atan2();
    }
    double values[64];
    int main()
    {
       for (double &value : values)
          value = atan2(value, 2.);
       return reinterpret_cast<unsigned long>(&_ZGVbN2vv_atan2) == 1;
    }
  ]] CLADTORCH_HAS_LIBMVEC)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(CLADTORCH_HAS_LIBMVEC)
    set(CLADTORCH_LIBMVEC mvec)
  endif()
endif()
