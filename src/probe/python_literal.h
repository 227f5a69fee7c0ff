#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Literals out of Python source that nobody runs: version.py, build_info.py, the preload lists of
// torch/__init__.py. These files are written by build systems in a handful of shapes; what does not
// fit gives nothing, never a guess.

namespace gpuwright {

/// A quoted text at the start of `text` (after blanks): its contents; nothing when there is none or
/// it holds an escape.
std::optional<std::string> quoted_at(std::string_view text);

/// The value assigned to `name` at the start of a line: `__version__ = '2.11.0+cu130'`,
/// `cuda: Optional[str] = '13.0'`. An unquoted value gives the rest of the line: "None", "True".
std::optional<std::string> assigned_value(std::string_view source, std::string_view name);

/// The value that follows a quoted key: `('cuda_version', '12.5.1')`, `"cuda_version": "12.5.1"`.
std::optional<std::string> keyed_value(std::string_view source, std::string_view key);

/// The quoted texts of the list that follows a quoted key: `('targets', ['sm_60', 'compute_90'])`.
std::optional<std::vector<std::string>> keyed_list(std::string_view source, std::string_view key);

/// All quoted texts of `source`, in order.
std::vector<std::string> quoted_texts(std::string_view source);

/// The part of `source` from the line that begins with `def name(` to the next line that begins
/// with anything but a blank, a comment or a closing bracket; empty when there is no such function.
std::string_view function_body(std::string_view source, std::string_view name);

}  // namespace gpuwright
