// What an exception says, for tests that check it word for word.
#ifndef RUNNEL_TESTS_SUPPORT_ERROR_MESSAGE_H_
#define RUNNEL_TESTS_SUPPORT_ERROR_MESSAGE_H_

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <typeinfo>

namespace runnel::testing {

// Runs `action`, which must throw an Exception with a message of one line; returns the message. Any
// other end is a failure of the test.
template <typename Exception, typename Action>
std::string ErrorMessage(const Action& action) {
  try {
    action();
  } catch (const Exception& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(message.find_first_of("\r\n"), std::string::npos) << "not one line: " << message;
    return message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw " << typeid(error).name() << ": " << error.what();
    return "";
  }
  ADD_FAILURE() << "threw nothing";
  return "";
}

// True when `text` contains `part`; else says so.
inline ::testing::AssertionResult Contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' does not contain '" << part << "'";
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ERROR_MESSAGE_H_
