//! Parameters of proofs on the command line.

use clap::Args;
use stark::{FriConfig, PcsConfig};

/// Parameters of a proof. By default a proof has 96 bits of conjectured security: 80 queries and 16 bits of work.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ConfigArgs {
    /// Log of how many times larger a committed domain is than the trace; each query is worth so many bits.
    #[arg(long, value_name = "LOG", default_value_t = 1)]
    blowup: u32,
    /// Positions at which the proof is opened.
    #[arg(long, value_name = "N", default_value_t = 80)]
    queries: usize,
    /// Bits of work, done before the queries are drawn; at most 40.
    #[arg(long, value_name = "BITS", default_value_t = 16)]
    pow_bits: u32,
    /// Log of how many values a layer of FRI folds to one.
    #[arg(long, value_name = "LOG", default_value_t = 1)]
    fold_step: u32,
    /// Log of the number of coefficients of the last layer.
    #[arg(long, value_name = "LOG", default_value_t = 0)]
    last_layer: u32,
    /// Log size that every column is lifted to; needed where preprocessed columns and traces differ in height.
    #[arg(long, value_name = "LOG")]
    lifting: Option<u32>,
}

/// Bits that a proof has at most, however many queries it answers: those of its field and its hash.
const MOST_SECURITY: u32 = 120;

/// Bits of conjectured security of proofs with these parameters.
pub(crate) fn security(config: &PcsConfig) -> u32 {
    config.security_bits().min(MOST_SECURITY)
}

impl ConfigArgs {
    /// The parameters.
    pub(crate) const fn config(&self) -> PcsConfig {
        PcsConfig {
            pow_bits: self.pow_bits,
            fri_config: FriConfig {
                log_blowup_factor: self.blowup,
                log_last_layer_degree_bound: self.last_layer,
                n_queries: self.queries,
                fold_step: self.fold_step,
            },
            lifting_log_size: self.lifting,
        }
    }
}
