//! Networks that learn: layers, the tape, whole models, and trainings that are resumed.

mod ensemble;
mod layers;
mod mlp;
mod resume;
mod tape;
