/// \file full_disk.h
/// \brief While it lives, files end at this many bytes, and the system reports this like a full disk.

#ifndef CLADTORCH_TEST_FULL_DISK
#define CLADTORCH_TEST_FULL_DISK

#include <csignal>
#include <sys/resource.h>

class FullDisk {
public:
   explicit FullDisk(rlim_t bytes)
   {
      std::signal(SIGXFSZ, SIG_IGN);
      getrlimit(RLIMIT_FSIZE, &fBefore);
      auto small = fBefore;
      small.rlim_cur = bytes;
      setrlimit(RLIMIT_FSIZE, &small);
   }
   FullDisk(const FullDisk &) = delete;
   ~FullDisk() { setrlimit(RLIMIT_FSIZE, &fBefore); }

private:
   rlimit fBefore;
};

#endif
