// The whole public interface.
#pragma once

#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/kernels.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/model.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/report.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/synthetic.hpp"
#include "headgauge/tokenize.hpp"
