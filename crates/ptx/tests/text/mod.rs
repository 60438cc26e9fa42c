//! Parser, analyses, printer and lints.

mod corpus;
mod flow;
mod lints;
mod malformed;
mod mutations;
mod opcodes;
mod rewriting;
mod samples;
mod speed;
mod syntax;
mod typing;
mod uniformity;
mod uniformity_random;
