//! Operations of stwo's prover on the device.

mod accumulate;
mod component;
mod fri;
mod gkr;
mod grind;
mod merkle;
mod poly;
mod quotients;
