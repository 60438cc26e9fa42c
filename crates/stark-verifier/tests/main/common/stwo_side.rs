//! stwo's side of the statements: the sources that the vectors were made from.

#![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "written for a program of its own")]

#[path = "../../../../../vectors/stwo/src/airs.rs"]
pub(crate) mod airs;
#[path = "../../../../../vectors/stwo/src/blake2s.rs"]
pub(crate) mod blake2s;
#[path = "../../../../../vectors/stwo/src/components.rs"]
pub(crate) mod components;
#[path = "../../../../../vectors/stwo/src/shipped.rs"]
pub(crate) mod shipped;
#[path = "../../../../../vectors/stwo/src/statement.rs"]
pub(crate) mod statement;
#[path = "../../../../../vectors/stwo/src/verify.rs"]
pub(crate) mod verify;
