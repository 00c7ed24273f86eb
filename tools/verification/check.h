// The difference between two computations of the same values, and the table of all such checks.
#ifndef RUNNEL_TOOLS_VERIFICATION_CHECK_H_
#define RUNNEL_TOOLS_VERIFICATION_CHECK_H_

#include <string>
#include <utility>

namespace runnel {

// The largest differences seen so far. NaN counts as larger than any number.
struct Difference {
  double absolute = 0;
  double relative = 0;  // to the largest magnitude of the values, or to 1 if that is larger

  void Add(const Difference& other);
};

// With two digits: "1.2e-07".
std::string FormatError(double error);

// One property that must hold in all settings.
class Check {
 public:
  Check(std::string name, double tolerance) : name_(std::move(name)), tolerance_(tolerance) {}

  // `difference`: found at `setting`.
  void Record(const std::string& setting, const Difference& difference);

  bool passed() const { return worst_.relative <= tolerance_; }
  const std::string& name() const { return name_; }

  // Name, errors, setting with the largest error, tolerance, verdict.
  std::string TableRow() const;
  static std::string TableHead();

  // One line: the check that failed, its setting and its error.
  std::string Failure() const;

 private:
  std::string name_;
  double tolerance_;  // of the relative error
  Difference worst_;
  std::string worst_setting_ = "-";
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_CHECK_H_
