/// \file Unprinted.hxx
/// \brief Errors that somebody else will report.

#ifndef CLADTORCH_UNPRINTED
#define CLADTORCH_UNPRINTED

namespace CladTorch {
namespace Internal {

/// While it lives, errors of public functions that this thread calls are thrown but not printed: their catcher throws
/// another error that reports them.
class Unprinted {
public:
   Unprinted() { ++fgCount; }
   Unprinted(const Unprinted &) = delete;
   ~Unprinted() { --fgCount; }

   static bool IsActive() { return fgCount > 0; }

private:
   static thread_local int fgCount;
};

} // namespace Internal
} // namespace CladTorch

#endif
