// What src/cuda/both.hpp and both_graphs.hpp have for this interface.
#include "src/cuda/driver/face.hpp"

#include "src/cuda/both.hpp"
#include "src/cuda/both_graphs.hpp"
