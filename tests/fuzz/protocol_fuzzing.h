// Turns a fuzzer's input into a conversation of a client with a protocol.
#ifndef RUNNEL_TESTS_FUZZ_PROTOCOL_FUZZING_H_
#define RUNNEL_TESTS_FUZZ_PROTOCOL_FUZZING_H_

#include <string>
#include <string_view>

#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::fuzz {

const TokenTable& Units();

// JSON, or sherpa-onnx's "Done!", in UTF-8.
bool IsJsonText(const std::string& text);

// `input` is a sequence of pieces. A piece has a kind (1 byte: 't' for a text message, 'r' for a
// long one, of three lines of which the second is repeated, 'u' for an update of the stream, else a
// binary message), a size (2 bytes, little-endian) and that many bytes, or as many as are left.
// Requires that requests come in an order that a stream can follow, and that all texts sent are
// valid. Returns whether the work was linear in the messages (WorkBound).
bool Converse(server::Protocol* protocol, std::string_view input,
              bool (*is_valid)(const std::string& text) = IsJsonText);

}  // namespace runnel::fuzz

#endif  // RUNNEL_TESTS_FUZZ_PROTOCOL_FUZZING_H_
