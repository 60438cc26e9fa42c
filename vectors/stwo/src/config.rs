//! Parameters in short.

use stwo::core::{fri::FriConfig, pcs::PcsConfig};

/// Builds a configuration from numbers.
///
/// They are blowup, fold step, last layer's degree bound (all but the fold step as logs), queries
/// and bits of work.
pub fn config([blowup, fold_step, last, queries, pow_bits]: [u32; 5], lifting: Option<u32>) -> PcsConfig {
    PcsConfig {
        pow_bits,
        fri_config: FriConfig::new(last, blowup, queries as usize, fold_step),
        lifting_log_size: lifting,
    }
}
