//! The processor against peer crates on random inputs.

mod channel_stwo;
mod circle_plonky3;
mod circle_stwo;
mod fss_rs;
mod stark_stwo;
