//! Programs of AIRs as compiled text: the text itself, its compilation, and its lifetime.

mod held;
mod job;
mod mutants;
mod text;
