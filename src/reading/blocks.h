#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "machine/event.h"

// Outputs whose lines mean something together only: tables, `nvidia-smi -q`, messages of several
// lines. A block begins with a line that holds its literal and takes lines until it refuses one. To
// add one: a class in reading/blocks_<program>.cpp and a row in its table.

namespace gpuwright {

using EventSink = std::function<void(Event)>;  ///< `source` is filled in by the reader.

class Block {
 public:
  virtual ~Block() = default;
  /// The next line, cleaned; the first one is that with the literal. False when the line belongs to
  /// the block no more; it is then read as any other.
  virtual bool line(const std::string& text, const EventSink& sink) = 0;
  /// The block has ended, or the text has.
  virtual void end(const EventSink& sink) { static_cast<void>(sink); }
};

struct BlockKind {
  const char* literals;  ///< As of patterns.
  /// Nothing when the line is not the beginning of such a block after all.
  std::unique_ptr<Block> (*begin)(const std::string& line);
};

std::span<const BlockKind> smi_blocks();   ///< nvidia-smi: its table, its -q form.
std::span<const BlockKind> csv_blocks();   ///< nvidia-smi --query-gpu.
std::span<const BlockKind> host_blocks();  ///< lspci, systemctl status.
std::span<const BlockKind> list_blocks();  ///< pip list, conda list.

}  // namespace gpuwright
