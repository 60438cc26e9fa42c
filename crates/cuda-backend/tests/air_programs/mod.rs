//! Programs of AIRs as text that the driver compiles: what the text is, when it is compiled, and how long it is held.

mod held;
mod job;
mod mutants;
mod text;
