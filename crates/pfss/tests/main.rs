//! Tests of gates, descriptors, functions and sessions on the host processor, in one program, since each program builds what is
//! generic in the queue anew.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
mod descriptors;
mod differential;
mod functions;
mod gates;
mod leaks;
mod predicates;
mod session;
mod softmax;
mod suf;
mod wires;
