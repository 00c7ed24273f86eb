#include "encoder/position_config.h"

#include "encoder/json/json_section.h"

namespace runnel {
namespace {

constexpr int64_t kMaxDistance = 1 << 20;
constexpr int64_t kMaxGroupSize = 64;  // frames

RelativeQueryConfig ParseRelativeQuery(JsonSection* section) {
  RelativeQueryConfig config;
  config.linear_pos_bias = section->Bool("linear_pos_bias");
  const std::string scaling = section->String("query_scaling");
  if (scaling != "after_bias" && scaling != "before_bias") {
    section->Fail("query_scaling", "\"after_bias\" or \"before_bias\"");
  }
  config.scale_after_bias = scaling == "after_bias";
  return config;
}

PositionConfig ParseNone(JsonSection* /*section*/) { return NoPosition(); }

PositionConfig ParseAbsolute(JsonSection* /*section*/) { return AbsolutePosition(); }

ChunkRpe ParseShifted(JsonSection* section) {
  ChunkRpe config;
  config.query = ParseRelativeQuery(section);
  const std::string order = section->String("table_order");
  if (order != "descending" && order != "ascending") {
    section->Fail("table_order", "\"descending\" or \"ascending\"");
  }
  config.order = order == "descending" ? TableOrder::kDescending : TableOrder::kAscending;
  return config;
}

PositionConfig ParseChunkRpe(JsonSection* section) { return ParseShifted(section); }

PositionConfig ParseBoundedRpe(JsonSection* section) {
  ChunkRpe config = ParseShifted(section);
  config.max_distance = section->Integer("radius", 1, kMaxDistance) - 1;
  return config;
}

PositionConfig ParseWindowedRpe(JsonSection* section) {
  ChunkRpe config = ParseShifted(section);
  config.window = {section->Integer("left", -1, kMaxDistance),
                   section->Integer("right", -1, kMaxDistance)};
  return config;
}

PositionConfig ParseRelativeKeyValue(JsonSection* section) {
  RelativeKeyValue config;
  config.max_distance = section->Integer("max_distance", 0, kMaxDistance);
  config.values = section->Bool("values");
  config.shared = section->Bool("shared");
  return config;
}

PositionConfig ParseUnshifted(JsonSection* section) {
  return UnshiftedPosition{ParseRelativeQuery(section)};
}

PositionConfig ParseGroupedUnshifted(JsonSection* section) {
  GroupedUnshifted config;
  config.query = ParseRelativeQuery(section);
  config.group_sizes = section->Integers("group_sizes", 1, kMaxGroupSize);
  if (config.group_sizes.empty()) section->Fail("group_sizes", "one for each layer");
  return config;
}

PositionConfig ParseLegacyRelPos(JsonSection* section) {
  LegacyRelPos config;
  config.query = ParseRelativeQuery(section);
  config.table_length = section->Integer("table_length", 1, kMaxDistance);
  return config;
}

PositionConfig ParseRotary(JsonSection* /*section*/) { return RotaryPosition(); }

// The value of `scheme` in the model file, and the parser of the other fields.
struct Scheme {
  const char* name;
  PositionConfig (*parse)(JsonSection* section);
};

constexpr Scheme kSchemes[] = {
    {"none", &ParseNone},
    {"absolute", &ParseAbsolute},
    {"chunk_rpe", &ParseChunkRpe},
    {"bounded_rpe", &ParseBoundedRpe},
    {"relative_key_value", &ParseRelativeKeyValue},
    {"unshifted", &ParseUnshifted},
    {"grouped_unshifted", &ParseGroupedUnshifted},
    {"legacy_rel_pos", &ParseLegacyRelPos},
    {"rotary", &ParseRotary},
    {"windowed_rpe", &ParseWindowedRpe},
};

}  // namespace

const char* NeedsWholeUtterance(const PositionConfig& config) {
  if (std::holds_alternative<LegacyRelPos>(config)) {
    return "its position scheme counts from the end of the utterance";
  }
  const auto* shifted = std::get_if<ChunkRpe>(&config);
  if (shifted != nullptr && shifted->window) {
    return "its attention has a window around each frame, which reads frames after a chunk";
  }
  return nullptr;
}

PositionConfig ParsePosition(JsonSection* section) {
  const std::string name = section->String("scheme");
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    if (name == scheme.name) {
      PositionConfig config = scheme.parse(section);
      section->CheckAllTaken();
      return config;
    }
    known += (known.empty() ? "\"" : ", \"") + std::string(scheme.name) + "\"";
  }
  section->Fail("scheme", "one of " + known);
}

}  // namespace runnel
