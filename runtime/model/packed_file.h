// The format of model files that hold packed weights, which are mapped and used as they are.
//
//   header     magic, checksum of all bytes after it, size of the file, size of the index
//   index      JSON: which sections hold what
//   sections   each at a multiple of kMappedAlignment bytes after the aligned end of the index
//
// The index:
//   "kind"       "named " and kStoredMatrixKind (encoder/cpu/kernels/matmul/stored_matrix.h)
//   "precision"  "float32", "bfloat16", "int8" or "int4"
//   "digest"     of the model file that was packed; with int4 also of the weights of four bits
//   "note"       of its weights, for a log; only where there is one
//   "config", "units"  sections: runnel.json and units.txt
//   "tensors"    {"name", "shape", "values": section, or null for a tensor in the matrices}
//   "matrices"   {"name", "shape": [output_dim, input_dim], "format": "four bits", only where
//                they are, "values", "scales", "column_sums": sections}. The name is that of the
//                tensor that is packed; the names of several tensors that are packed as one matrix
//                are joined by '+' (MergedName in encoder/encoder_weights.h). Matrices are found by
//                name. pack_model writes them in the order in which a step reads them.
// A section is [offset, size] in bytes. Numbers are little-endian. Files of other kinds are
// refused.
#ifndef RUNNEL_RUNTIME_MODEL_PACKED_FILE_H_
#define RUNNEL_RUNTIME_MODEL_PACKED_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encoder/cpu/packer.h"
#include "encoder/model_file/model_archive.h"
#include "runtime/model.h"

namespace runnel {

// The contents of a model file. Without packed weights, `matrices` are empty and `precision` is of
// no meaning; with them, tensors that are in the matrices have shapes but no values.
struct PackedFile {
  ModelArchive archive;
  std::string digest;  // identifies the contents of the model file, packed or not
  Precision precision = Precision::kDefault;
  std::vector<cpu::NamedMatrix> matrices;
};

// "float32", "bfloat16", "int8", "int4", "float64" or "default".
const char* PrecisionName(Precision precision);

// Whether a file begins like one with packed weights. False for one that cannot be read.
bool IsPackedFile(const std::string& path);

// Maps a file. Tensors and matrices refer to the mapped memory and keep it. Throws
// std::runtime_error, one line: the file, what is wrong, what was expected.
PackedFile ReadPackedFile(const std::string& path);

// Returns the size of the file in bytes. Throws std::runtime_error if it cannot be written.
uint64_t WritePackedFile(const PackedFile& file, const std::string& path);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_PACKED_FILE_H_
