#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/system.h"

namespace gpuwright {

/// One thing we know, know not to be there, or could not find out, always with its source.
/// "Not there" and "could not look" are different: a permission, a time-out or a parse failure is
/// unknown with the reason, never absent, and never a stand-in value such as 0, -1 or "".
template <class T>
class Fact {
 public:
  /// A fact that no probe has touched.
  Fact() : state_(Unknown{"not looked at"}) {}

  static Fact known(T value, std::string source) {
    return Fact(std::move(value), std::move(source));
  }
  static Fact absent(std::string source) { return Fact(Absent{}, std::move(source)); }
  static Fact unknown(std::string source, std::string reason) {
    return Fact(Unknown{std::move(reason)}, std::move(source));
  }
  /// "Nothing of that name" is absent, every other failure unknown.
  static Fact from_error(std::string source, const Error& error) {
    return is_not_there(error) ? absent(std::move(source))
                               : unknown(std::move(source), error.message);
  }

  bool is_known() const { return std::holds_alternative<T>(state_); }
  bool is_absent() const { return std::holds_alternative<Absent>(state_); }
  bool is_unknown() const { return std::holds_alternative<Unknown>(state_); }

  const T& operator*() const { return value(); }
  const T* operator->() const { return &value(); }
  const T& value() const {
    assert(is_known());
    return std::get<T>(state_);
  }
  T& edit() { return std::get<T>(state_); }
  T value_or(T other) const { return is_known() ? value() : std::move(other); }
  /// True when the fact is known and equal to `other`.
  bool is(const T& other) const { return is_known() && value() == other; }

  /// File, variable or call it came from: "/proc/driver/nvidia/version".
  const std::string& source() const { return source_; }
  /// Why it is unknown; empty otherwise.
  std::string reason() const {
    const auto* unknown = std::get_if<Unknown>(&state_);
    return unknown == nullptr ? std::string() : unknown->reason;
  }

  friend bool operator==(const Fact&, const Fact&) = default;

 private:
  struct Absent {
    friend bool operator==(const Absent&, const Absent&) = default;
  };
  struct Unknown {
    std::string reason;
    friend bool operator==(const Unknown&, const Unknown&) = default;
  };
  template <class S>
  Fact(S state, std::string source) : state_(std::move(state)), source_(std::move(source)) {}

  std::variant<T, Absent, Unknown> state_;
  std::string source_;
};

}  // namespace gpuwright
