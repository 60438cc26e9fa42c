//! Kernels of the op sets deep and fri: sampling points, quotients, folds and the last layer.

mod fold;
mod last_layer;
mod lines;
mod numerators;
mod points;
mod quotients;
