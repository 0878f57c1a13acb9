/// \file check.h
/// \brief Code that the macros of these tests share: a macro ends with exit code 1 at the first failed check.

#ifndef CLADTORCH_TEST_CHECK
#define CLADTORCH_TEST_CHECK

#include <CladTorch/Error.hxx>

#include <TSystem.h>

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <iostream>
#include <sstream>
#include <string>

#undef CHECK // LibTorch has one, too
#define CHECK(condition) Check(condition, #condition, __FILE__, __LINE__)

inline void Check(bool holds, const char *what, const char *file, int line)
{
   std::printf("%s %s\n", holds ? "ok    " : "FAILED", what);
   if (!holds) {
      std::printf("%s:%d\n", file, line);
      std::fflush(stdout);
      gSystem->Exit(1);
   }
}

inline bool Near(double a, double b, double tolerance)
{
   return std::fabs(a - b) <= tolerance;
}

/// Runs `f`, which must throw a CladTorch::Error whose message contains every one of `parts`, at least one.
template <class F>
void Refuses(const char *what, F f, std::initializer_list<const char *> parts)
{
   std::string message;
   try {
      f();
   } catch (const CladTorch::Error &e) {
      message = e.what();
   }
   bool holds = parts.size() > 0 && !message.empty();
   for (const char *part : parts)
      holds = holds && message.find(part) != std::string::npos;
   if (!holds)
      std::printf("the message was: %s\n", message.empty() ? "none, nothing was thrown" : message.c_str());
   Check(holds, what, __FILE__, __LINE__);
}

/// The output of Print() of an object.
template <class T>
std::string Printed(const T &object)
{
   std::ostringstream text;
   auto *screen = std::cout.rdbuf(text.rdbuf());
   object.Print();
   std::cout.rdbuf(screen);
   return text.str();
}

/// The last line of a macro; the tests look for it.
inline void Passed()
{
   std::printf("ALL CHECKS PASSED\n");
   std::fflush(stdout);
}

#endif
