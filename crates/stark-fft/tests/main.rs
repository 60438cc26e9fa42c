//! Transforms: published values and every size, sets, blocks, and columns that ranks share.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod blocks;
mod common;
mod known_answers;
mod queues;
mod sets;
mod sharded;
