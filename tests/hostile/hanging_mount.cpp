#include "hostile/hanging_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gpuwright {

HangingMount::HangingMount(const std::filesystem::path& directory) : directory_(directory) {
  std::filesystem::create_directories(directory);
  device_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device_ < 0) {
    problem_ = std::string("/dev/fuse: ") + std::strerror(errno);
    return;
  }
  const std::string options =
      "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (::mount("hanging", directory_.c_str(), "fuse.hanging", MS_NOSUID | MS_NODEV,
              options.c_str()) != 0)
    problem_ = std::string("mount: ") + std::strerror(errno);
}

// Closing the device ends the connection: whoever still waits gets an error.
HangingMount::~HangingMount() {
  if (device_ >= 0) ::close(device_);
  if (problem_.empty()) ::umount2(directory_.c_str(), MNT_DETACH);
}

}  // namespace gpuwright
