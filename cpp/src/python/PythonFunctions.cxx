/// \file PythonFunctions.cxx
/// \brief Functions of Python as callbacks and metrics. The file `python/functions.py` looks these two up by name: PyROOT loses the
/// namespace of what a function takes.

#include <CladTorch/Evaluation.hxx>
#include <CladTorch/FitOptions.hxx>
#include <CladTorch/Metric.hxx>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

namespace {

/// Made by Python's ctypes, which takes Python's lock for it.
/// \param argument An Epoch or an Evaluation.
/// \return 0, or 1 with a description of the exception in `message`, which has room for `size` bytes.
using PythonFunction_t = int (*)(const void *argument, double *result, char *message, std::size_t size);

double Call(PythonFunction_t function, const void *argument)
{
   char message[512] = "";
   double result = 0;
   if (function(argument, &result, message, sizeof message) != 0)
      throw std::runtime_error(message);
   return result;
}

} // namespace

/// Makes `options` call `function`, or nothing.
extern "C" void CladTorchSetCallback(CladTorch::FitOptions *options, PythonFunction_t function)
{
   if (!function)
      options->fCallback = nullptr;
   else
      options->fCallback = [function](const CladTorch::Epoch &epoch) { return Call(function, &epoch) != 0; };
}

/// Makes `metric` one of that name. Returns whether that was possible; otherwise the reason has been printed.
extern "C" bool CladTorchSetMetric(CladTorch::Metric *metric, const char *name, PythonFunction_t function)
{
   try {
      *metric = CladTorch::Metric(name, [function](const CladTorch::Evaluation &e) { return Call(function, &e); });
      return true;
   } catch (const std::exception &) {
      return false;
   }
}
