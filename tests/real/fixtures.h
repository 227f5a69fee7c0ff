#pragma once

#include <string>

#include "child.h"

// Objects that the tests compile with the machine's C compiler.

namespace gpuwright::real {

/// The libraries of fake_driver.c, in directories of their own so that each can be left out. The
/// file names carry the version of the module in healthy_machine.json.
class FakeDriver {
 public:
  FakeDriver();
  std::string cuda() const { return scratch_.path() + "/cuda"; }
  std::string management() const { return scratch_.path() + "/management"; }
  /// A directory called stubs with the same libcuda.so.1.
  std::string stubs() const { return scratch_.path() + "/stubs"; }
  /// LD_LIBRARY_PATH with both.
  std::string path() const { return cuda() + ":" + management(); }

 private:
  ScratchDirectory scratch_;
};

/// Compiles stand_in.c as `file`, whose name is the SONAME.
void make_stand_in(const std::string& file);

/// A copy of a file under the same name in `directory`: another inode.
void copy_into(const std::string& file, const std::string& directory);

}  // namespace gpuwright::real
