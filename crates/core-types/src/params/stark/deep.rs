//! Parameters of sampling outside the domain and of DEEP quotients.

use bytemuck::{Pod, Zeroable};

use crate::params::sizes::{list_sizes, sizes};

/// A point derived from the out-of-domain point.
///
/// It is the out-of-domain point plus `index` steps of the generator, doubled `doublings` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PointAt {
    /// Steps of the generator of the circle group, modulo `2^31`.
    pub index: u32,
    /// How often the sum is doubled, at most 31.
    pub doublings: u32,
}

list_sizes!(PointAt);

/// A value to sample: a column at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SampleAt {
    /// The column, by its place in the list.
    pub column: u32,
    /// The point, by its place in the list.
    pub point: u32,
}

list_sizes!(SampleAt);

/// A term of the quotients: the claimed value of a column at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DeepTerm {
    /// The column, by its place in the list.
    pub column: u32,
    /// The claimed value, by its place among the sampled ones.
    pub value: u32,
    /// The power of the challenge that the term is taken with.
    pub power: u32,
    /// Keeps the record a multiple of 16 bytes; zero.
    pub reserved: u32,
}

list_sizes!(DeepTerm);

/// Consecutive terms, from `first` on, at one point with columns of one height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DeepBatch {
    /// The first of its terms.
    pub first: u32,
    /// Their number, at least 1.
    pub count: u32,
    /// The point, by its place in the list. Batches of one point follow each other.
    pub point: u32,
    /// Log of the number of values of its numerators.
    pub log_size: u32,
}

list_sizes!(DeepBatch);

/// Numerators of the columns of one height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DeepNumeratorsParams {
    /// Log of the number of positions, the first of every column; at most 30.
    pub log_size: u32,
}

sizes!(DeepNumeratorsParams { log_size });

/// Quotients on the first positions of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DeepQuotientsParams {
    /// Log of the number of positions.
    pub log_size: u32,
    /// Log of the number of points of the canonic domain, 1..=30.
    ///
    /// The positions are the first ones of this domain.
    pub log_domain: u32,
}

sizes!(DeepQuotientsParams { log_size, log_domain });
