//! The sources that the committed proofs were made from, and what other crates have for their tests.

#![allow(dead_code, missing_docs, missing_debug_implementations, unreachable_pub, reason = "of other programs")]

#[path = "../../../../vectors/stwo/src/airs.rs"]
pub(crate) mod airs;
#[path = "../../../../vectors/stwo/src/blake2s.rs"]
pub(crate) mod blake2s;
#[path = "../../../stark-verifier/tests/main/common/committed.rs"]
pub(crate) mod committed;
#[path = "../../../../vectors/stwo/src/components.rs"]
pub(crate) mod components;
#[path = "../../../stark-air/tests/main/interpreter.rs"]
pub(crate) mod interpreter;
#[path = "../../../stark-airs/tests/main/look_ups.rs"]
pub(crate) mod look_ups;
#[path = "../../../stark-verifier/tests/main/common/random_point.rs"]
pub(crate) mod random_point;
#[path = "../../../../vectors/stwo/src/shipped.rs"]
pub(crate) mod shipped;
#[path = "../../../stark-verifier/tests/main/common/stated.rs"]
pub(crate) mod stated;
#[path = "../../../../vectors/stwo/src/statement.rs"]
pub(crate) mod statement;
#[path = "../../../stark/tests/session/traces.rs"]
pub(crate) mod traces;
