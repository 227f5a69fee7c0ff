#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gpuwright {

/// What this machine and its people are called; the rest is recognised by its form.
struct PrivateNames {
  std::vector<std::string> homes;  ///< Home directories outside /home: "/data/people/alice".
  std::vector<std::string> users;  ///< Login names.
  std::vector<std::string> hosts;  ///< Host names, short and full.
};

/// The snapshot without what names a person, a machine or a network, and without secrets: home
/// directories, user and host names, GPU serial numbers, UUIDs, MAC and IP addresses, e-mail
/// addresses, tokens, credentials in URLs, and values of variables that are called secret.
///
/// Equal things stay equal and different ones different (GPU-00000001-..., /home/user2), a short
/// form of a UUID stays a prefix of the long one, and versions, PCI addresses and file names stay
/// as they are, so that the rules find the same in both. Redacting twice changes nothing more.
nlohmann::ordered_json redact(const nlohmann::ordered_json& snapshot, const PrivateNames& names);

}  // namespace gpuwright
