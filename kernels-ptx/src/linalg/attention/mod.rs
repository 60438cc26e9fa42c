//! Attention without a matrix of scores in global memory, forward and backward.
//!
//! Dao et al., FlashAttention, arXiv 2205.14135. Sums are in f32 for every element type. The order
//! of a query's sums depends on the number of keys, the length of a row, and whether there are more
//! than 16 queries; not on the numbers of heads and batches.
//!
//! | kernel | a block takes | and reads | threads |
//! | --- | --- | --- | --- |
//! | `many64`, `many128` | 64 queries of one head | all keys | 128 |
//! | `few64`, `few128` | 16 queries, also of heads that share keys | a part of the keys | 128 |
//! | `join` | results | the sums of all parts | 256 |
//! | `delta` | 4 queries | - | 128 |
//! | `keys64`, `keys128` | 64 keys; 32 long ones of f32 | all queries | 128 |
//! | `queries64`, `queries128` | 64 queries; 32 long ones of f32 | all keys | 128 |
//!
//! The number in a name is the greatest length of a row. `few` and all of f32 compute on the
//! ordinary units, the others of 16 bits on the matrix units. Tiles beyond the diagonal of a causal
//! mask or beyond the keys of a batch are skipped. Tiles that `keep` or `addend` leaves out are
//! computed.
//!
//! Left-out keys with NaN in a tile with others would make a product of tiles NaN. So blocks look
//! for elements that are not finite when they copy a tile, and leave keys of such tiles out one by
//! one.
//!
//! # Safety
//! The views of a launch hold the elements that the strides of its record reach. A mask is null or
//! has a row of `keys` elements for each query. Batches, heads, queries, keys and the rows of a
//! group of heads number less than 2^31. `key_lens` is null or has an element for each batch,
//! `state` is null or one record. `lse` holds a float for each query of each head; in the forward
//! pass it may be null. No axis that numbers the blocks of a launch is empty.

pub mod backward;
pub mod forward;
pub mod mma;
pub mod rows;
pub mod simt;
pub mod tile;
