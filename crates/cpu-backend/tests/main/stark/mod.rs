//! Ops of proofs.

mod air;
mod circle;
mod deep;
mod fri;
mod grind;
mod merkle;
mod refused;
