// One account of the memory that messages of clients take before they are read.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_INPUT_BUDGET_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_INPUT_BUDGET_H_

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace runnel::server {

// Thread-safe. A client may hold a third of what is left (dynamic thresholds, Choudhury and Hahne
// 1998): alone a quarter of the budget, beside n - 1 others that hold all they may, 1 / (n + 3).
// Something is therefore always left for a client that comes new.
class InputBudget {
 public:
  explicit InputBudget(size_t max_bytes) : max_bytes_(max_bytes) {}

  // What one message holds. Gives it back at its end. Used by one thread at a time.
  class Share {
   public:
    Share() = default;  // of no budget: there is no limit
    // `account`: the client's. `budget` outlives the share.
    Share(InputBudget* budget, std::string account);
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    ~Share() { Force(0); }

    // Makes the share `bytes` large. False, without an effect, when the client may not hold so
    // much; never for a smaller share.
    bool Resize(size_t bytes);
    // The same without a limit, for bytes that are there already.
    void Force(size_t bytes);

   private:
    InputBudget* budget_ = nullptr;
    std::string account_;
    size_t bytes_ = 0;
  };

  // Bytes of all shares.
  size_t num_bytes() const;

 private:
  // Both under mutex_.
  bool MayHold(const std::string& account, size_t more) const;
  void Change(const std::string& account, size_t before, size_t after);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  size_t num_bytes_ = 0;
  std::unordered_map<std::string, size_t> by_account_;  // that hold something
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_INPUT_BUDGET_H_
