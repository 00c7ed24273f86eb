#include "runtime/c_api/call.h"

#include <exception>
#include <new>
#include <system_error>

// `text` is `message`, or a literal when there was no memory for that.
struct runnel_error {
  runnel_status status = RUNNEL_OK;
  const char* text = "";
  std::string message;
};

namespace runnel::c_api {
namespace {

runnel_status Record(runnel_error* error, runnel_status status, const char* message) noexcept {
  if (error == nullptr) return status;
  error->status = status;
  error->text = "no memory for the message";
  try {
    error->message = message;
    error->text = error->message.c_str();
  } catch (const std::bad_alloc&) {  // the literal stays
  }
  return status;
}

}  // namespace

runnel_status Fail(runnel_error* error) noexcept {
  try {
    throw;
  } catch (const std::invalid_argument& misuse) {
    return Record(error, RUNNEL_INVALID_ARGUMENT, misuse.what());
  } catch (const std::bad_alloc&) {
    return Record(error, RUNNEL_OUT_OF_RESOURCES, "out of memory");
  } catch (const std::length_error&) {
    return Record(error, RUNNEL_OUT_OF_RESOURCES, "out of memory");
  } catch (const std::system_error& failure) {
    return Record(error, RUNNEL_OUT_OF_RESOURCES, failure.what());
  } catch (const std::runtime_error& bad_data) {
    return Record(error, RUNNEL_BAD_DATA, bad_data.what());
  } catch (const std::exception& defect) {
    return Record(error, RUNNEL_INTERNAL, defect.what());
  } catch (...) {
    return Record(error, RUNNEL_INTERNAL, "an exception of unknown kind");
  }
}

runnel_status Succeed(runnel_error* error) noexcept {
  if (error != nullptr) {
    error->status = RUNNEL_OK;
    error->text = "";
  }
  return RUNNEL_OK;
}

}  // namespace runnel::c_api

runnel_error* runnel_error_create(void) { return new (std::nothrow) runnel_error; }

void runnel_error_free(runnel_error* error) { delete error; }

runnel_status runnel_error_status(const runnel_error* error) {
  return error == nullptr ? RUNNEL_OK : error->status;
}

const char* runnel_error_message(const runnel_error* error) {
  return error == nullptr ? "" : error->text;
}
