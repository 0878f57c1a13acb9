/// \file lines.h
/// \brief The lines between the benchmark and a worker in C++; rust/xtask/src/bench/worker.rs describes them.

#ifndef CLADTORCH_BENCH_LINES
#define CLADTORCH_BENCH_LINES

#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

/// What stands before and after each `=` of a request.
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

/// `word number`, with nine digits.
inline std::string Said(const char *word, double number)
{
   std::ostringstream text;
   text.precision(9);
   text << word << ' ' << number;
   return text.str();
}

#endif
