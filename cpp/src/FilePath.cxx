#include "FilePath.hxx"

#include <TSystem.h>

#include <stdexcept>

namespace CladTorch {
namespace Internal {

std::string FilePath(const std::string &path)
{
   if (path.empty())
      throw std::runtime_error("the name of the file is empty");
   if (path[0] != '~')
      return path;
   const auto end = path.find('/');
   const auto user = path.substr(1, end == std::string::npos ? end : end - 1);
   const std::string home = gSystem->GetHomeDirectory(user.empty() ? nullptr : user.c_str());
   if (home.empty())
      return path; // a file may be called so
   return home + (end == std::string::npos ? "" : path.substr(end));
}

} // namespace Internal
} // namespace CladTorch
