//! Opens the CUDA driver at run time, or takes a table of functions in its place.
