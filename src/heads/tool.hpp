// Describes the program and the model of results.
#pragma once

#include "headgauge/heads.hpp"
#include "headgauge/provenance.hpp"

namespace headgauge {

ToolRecord describe_tool(int threads);

// Says what every source knows of its model: its name, family and sizes.
ModelRecord describe_model(const SourceInfo& info);

}  // namespace headgauge
