// Faults of options, in a text that every way to set options can spell in its own terms:
// --beam_size at a command line, beam_size in Python and JSON.
#ifndef RUNNEL_RUNTIME_OPTIONS_OPTION_ERROR_H_
#define RUNNEL_RUNTIME_OPTIONS_OPTION_ERROR_H_

#include <stdexcept>
#include <string>

namespace runnel {

// Names an option in the text of an OptionError. `value`: what the option must be, as text; "":
// only the name is meant.
std::string OptionName(const std::string& name, const std::string& value = "");

// Writes a name and a value of an option.
using OptionSpelling = std::string (*)(const std::string& name, const std::string& value);

// what() is a line: "beam_size is 0, expected 1 to 10000", "beam_size needs search=beam".
class OptionError : public std::invalid_argument {
 public:
  // `text`: one line, in which OptionName writes the options. Text of users must be printable
  // (runtime/text/printable.h).
  explicit OptionError(std::string text);

  // The line with the options spelled by `spelling`.
  std::string In(OptionSpelling spelling) const;

 private:
  std::string text_;
};

// "search", "search=beam".
std::string PlainOption(const std::string& name, const std::string& value);
// "--search", "--search=beam", "--rescoring" for a value of true; "--cache_precision=bfloat16" for
// an option whose flag has a name of its own.
std::string FlagOption(const std::string& name, const std::string& value);
// "search", "search='beam'", "rescoring=True".
std::string PythonOption(const std::string& name, const std::string& value);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_OPTIONS_OPTION_ERROR_H_
