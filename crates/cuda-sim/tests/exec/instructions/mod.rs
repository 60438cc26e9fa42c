//! Single instructions against scalar references.

mod floats;
mod integers;
mod memory;
mod tensors;
mod vectors;
mod warps;
