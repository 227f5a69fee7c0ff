#include "probe/probe.h"
