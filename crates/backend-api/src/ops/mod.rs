//! Op sets: coarse, fused device steps. Each op states its maths, its layout and what the caller has checked.
//!
//! Ops check nothing a plan has checked; they fail only for what a caller cannot foresee. Buffers arrive as borrowed
//! views ([`Ref`](crate::Ref), [`Mut`](crate::Mut)), so shards, batches and scratch are slices and not copies.

pub mod circle;
pub mod fss;
pub mod linalg;
pub mod share;
