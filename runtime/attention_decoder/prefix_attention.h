// Attention of the rows of a batch: to the tokens before them, and to the encoder frames.
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_PREFIX_ATTENTION_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_PREFIX_ATTENTION_H_

#include "encoder/encoder_config.h"
#include "encoder/rows.h"
#include "runtime/attention_decoder/prefix_rows.h"

namespace runnel {

// Both write context, (rows, d) = softmax(queries keys^T / sqrt(d_k)) values, head by head (Vaswani
// et al. 2017, section 3.2). All matrices have the same data type. A row of the result has the same
// bits whatever else is in the batch.
//
// float32 is computed by the attention kernel of the encoder. float64, which is the reference, is
// computed by plain loops.

// Each row reads itself and the rows before it in its hypotheses. queries_keys_values: (rows, 3 d).
void AttendToPrefixes(const PrefixRows& prefixes, const AttentionSizes& sizes,
                      ConstRows queries_keys_values, Rows context);

// Each row reads the encoder frames of its utterance. queries: (rows, d). keys_values: (frames,
// 2 d), of all utterances.
void AttendToEncoder(const DecoderBatch& batch, const AttentionSizes& sizes, ConstRows queries,
                     ConstRows keys_values, Rows context);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_PREFIX_ATTENTION_H_
