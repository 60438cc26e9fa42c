//! What differs between releases of stwo.

use core_types::field::{M31, QM31};

use crate::{
    statement::config::{FriConfig, PcsConfig},
    transcript::channel::Channel,
};

/// The release of stwo whose transcript and trees a proof has.
///
/// Their bytes do not change within one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// stwo 2.3: the lifting size is part of the transcript, and one for all trees.
    #[default]
    V2_3,
}

impl Protocol {
    /// Mixes the parameters into a fresh transcript.
    pub(crate) fn mix_config(self, config: &PcsConfig, channel: &mut Channel) {
        match self {
            Self::V2_3 => {
                let PcsConfig { pow_bits, fri_config, lifting_log_size } = *config;
                let FriConfig { log_blowup_factor, log_last_layer_degree_bound, n_queries, fold_step } = fri_config;
                // A valid number of queries fits a word.
                let first = [pow_bits, log_blowup_factor, n_queries as u32, log_last_layer_degree_bound];
                let second = [fold_step, lifting_log_size.unwrap_or(0), 0, 0];
                let words = [first, second].map(|words| QM31::from_coordinates(words.map(M31::from_u32)));
                channel.mix_felts(&words);
            }
        }
    }

    /// The height of a tree whose largest column has log size `largest`.
    ///
    /// `None` if `largest` is above the lifting size.
    pub(crate) fn height(self, config: &PcsConfig, largest: u32) -> Option<u32> {
        match self {
            Self::V2_3 => {
                let height = config.lifting_log_size.unwrap_or(largest);
                (largest <= height).then_some(height)
            }
        }
    }
}
