/// \file lines.h
/// \brief The lines between the benchmark and a worker in C++; rust/bench/src/worker.rs describes them.

#ifndef CLADTORCH_BENCH_LINES
#define CLADTORCH_BENCH_LINES

#include <sys/resource.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// The text before and after each `=` of a request.
using Values = std::map<std::string, std::string>;

inline std::vector<std::string> Cut(const std::string &text, char separator)
{
   std::vector<std::string> parts;
   std::istringstream stream(text);
   for (std::string part; std::getline(stream, part, separator);)
      parts.push_back(part);
   return parts;
}

/// Calls `answer(verb, values)` for each request and prints what it returns, or its error.
template <class Answer>
void Serve(Answer &&answer)
{
   for (std::string line; std::getline(std::cin, line);) {
      const auto words = Cut(line, ' ');
      Values values;
      for (std::size_t i = 1; i < words.size(); ++i)
         values[words[i].substr(0, words[i].find('='))] = words[i].substr(words[i].find('=') + 1);
      try {
         const std::string said = answer(words.at(0), values);
         std::cout << "bench " << said << std::endl;
      } catch (const std::exception &error) {
         const std::string message = error.what();
         std::cout << "bench error " << message.substr(0, message.find('\n')) << std::endl;
      }
   }
}

/// With all digits that a double has.
inline std::string Digits(double number)
{
   std::ostringstream text;
   text.precision(17);
   text << number;
   return text.str();
}

inline std::string Said(const std::string &word, double number)
{
   return word + ' ' + Digits(number);
}

/// The kernel's figure for this process's memory: `VmRSS` (now) or `VmHWM` (peak), bytes.
inline double Memory(const std::string &field)
{
   std::ifstream status("/proc/self/status");
   for (std::string line; std::getline(status, line);) {
      if (line.rfind(field + ":", 0) == 0)
         return 1024 * std::stod(line.substr(field.size() + 1));
   }
   throw std::runtime_error("the kernel does not say " + field);
}

/// Restarts `VmHWM` from the present memory.
inline void ResetPeakMemory()
{
   std::ofstream("/proc/self/clear_refs") << 5;
}

/// User and system time of all threads of this process, s.
inline double CpuSeconds()
{
   rusage usage;
   getrusage(RUSAGE_SELF, &usage);
   const auto seconds = [](const timeval &time) { return time.tv_sec + 1e-6 * time.tv_usec; };
   return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The additional values of a round beside its time: none.
struct NoMore {
   template <class Result>
   std::string operator()(const Result &) const
   {
      return "";
   }
};

/// Answers `case`, `round` and `check`. A round is `work(options of the case, seed)`, whose result is kept for
/// `check(options, result)` until the next round; `more(result)` is what it says beside the time, ` key=value`.
template <class Work, class Check, class More = NoMore>
void ServeRounds(Work &&work, Check &&check, More &&more = More())
{
   using Clock = std::chrono::steady_clock;
   Values options;
   std::optional<std::invoke_result_t<Work &, const Values &, unsigned long>> result;
   double held = 0;
   Serve([&](const std::string &verb, const Values &values) -> std::string {
      if (verb == "case") {
         result.reset();
         options = values;
         held = Memory("VmRSS");
         return "ready";
      }
      if (result && verb == "check")
         return Said("check", check(options, *result));
      if (options.empty() || verb != "round")
         throw std::invalid_argument("no request '" + verb + "' now");
      result.reset();
      ResetPeakMemory();
      const auto cpu = CpuSeconds();
      const auto start = Clock::now();
      result.emplace(work(options, std::stoul(values.at("seed"))));
      const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const auto used = CpuSeconds() - cpu;
      return Said("time", seconds) + " cpu=" + Digits(used) + " memory=" + Digits(Memory("VmHWM") - held) + more(*result);
   });
}

#endif
