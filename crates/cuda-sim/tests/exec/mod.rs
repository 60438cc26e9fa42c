//! Proof of the executor: every operation against scalar references, and programs that must or must not pass each
//! checker.
#![allow(clippy::precedence, reason = "shifts and masks stand as in the definitions they are taken from")]

mod checkers;
mod instructions;
mod loading;
mod orders;
mod programs;
mod rig;
mod scrambled;
mod shipped;
mod unwritten;
