//! Launch records of circle-STARK proofs.

pub mod air;
pub mod channel;
pub mod circle;
pub mod columns;
pub mod deep;
pub mod fri;
pub mod merkle;
