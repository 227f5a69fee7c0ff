#include "loader/loader.h"
