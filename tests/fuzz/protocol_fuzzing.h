// One conversation of a client with a protocol, made of an input: messages and updates in turn.
#ifndef RUNNEL_TESTS_FUZZ_PROTOCOL_FUZZING_H_
#define RUNNEL_TESTS_FUZZ_PROTOCOL_FUZZING_H_

#include <string_view>

#include "runtime/token_table.h"
#include "tools/server/protocol.h"

namespace runnel::fuzz {

const TokenTable& Units();

// `input`: pieces of a kind (1 byte: 't' a text message, 'u' an update of the stream, else a binary
// message), a size (2 bytes, little-endian) and so many bytes, or what is left of them. Requires
// that requests come in an order that a stream can follow and that only sound text is sent.
void Converse(server::Protocol* protocol, std::string_view input);

}  // namespace runnel::fuzz

#endif  // RUNNEL_TESTS_FUZZ_PROTOCOL_FUZZING_H_
