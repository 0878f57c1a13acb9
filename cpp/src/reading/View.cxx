#include <CladTorch/View.hxx>
#include <CladTorch/Guard.hxx>

#include <limits>
#include <stdexcept>
#include <string>

namespace CladTorch {
namespace Internal {

std::size_t RowsOf(std::size_t numbers, std::size_t columns)
{
   return Guard("CladTorch::View::Reshape", [&] {
      if (columns == 0 || numbers % columns)
         throw std::runtime_error(std::to_string(numbers) + " elements do not fill rows of " + std::to_string(columns) +
                                  ": give the number of columns that they were made with");
      return numbers / columns;
   });
}

void CheckMemory(const void *data, std::size_t rows, std::size_t columns, std::size_t bytesEach)
{
   const auto most = std::numeric_limits<std::size_t>::max() / bytesEach / (columns ? columns : 1);
   if ((data || rows == 0) && rows <= most)
      return;
   const auto shape = std::to_string(rows) + (columns ? " rows of " + std::to_string(columns) : " numbers");
   Report("CladTorch::View", "a view of " + shape +
                                (data ? " is longer than any memory: give the size of what the pointer points to"
                                      : " at a null pointer: give a pointer to them"));
}

} // namespace Internal
} // namespace CladTorch
