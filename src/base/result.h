#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace gpuwright {

/// Why something could not be done: a sentence, the thing it is about, and the foreign code.
struct Error {
  std::string message;  ///< A sentence without the subject: "No such file or directory".
  std::string subject;  ///< Path, symbol, package; empty when there is none.
  int code = 0;         ///< errno where a system call failed, otherwise 0.

  /// "subject: message", or the message alone.
  std::string text() const { return subject.empty() ? message : subject + ": " + message; }

  friend bool operator==(const Error&, const Error&) = default;
};

/// A value, or the Error that stood in its way. Use only and_then, transform, or_else, value and
/// error, so that the alias can become std::expected; mark functions that return it [[nodiscard]].
template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string message, std::string subject = {}, int code = 0) {
  return tl::unexpected<Error>(Error{std::move(message), std::move(subject), code});
}

}  // namespace gpuwright
