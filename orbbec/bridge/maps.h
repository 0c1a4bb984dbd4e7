// The former name of pointwise.h, for orbbec/mix.
#pragma once

#include "pointwise.h"
