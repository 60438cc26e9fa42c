//! The processor against peer crates on random inputs.

mod channel_stwo;
mod circle_plonky3;
mod circle_stwo;
mod fss_rs;
mod merkle_stwo;
mod stark_stwo;
