//! Single instructions against scalar references.

mod floats;
mod integers;
mod vectors;
mod warps;
