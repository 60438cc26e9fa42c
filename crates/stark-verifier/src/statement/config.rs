//! Parameters of the polynomial commitment, by the names and in the serde form of stwo.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The largest log size of a domain that is committed to: of the largest canonic domain.
pub const MAX_LOG_SIZE: u32 = core_types::circle::MAX_LOG_DOMAIN;

/// The maximum number of queries. Security needs far fewer; a verifier has to bound its work.
pub const MAX_QUERIES: usize = 1 << 16;

/// Parameters of FRI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FriConfig {
    /// Log of how many times larger a committed domain is than the degree, 1 to 16.
    pub log_blowup_factor: u32,
    /// Log of the number of coefficients of the last layer, at most 10.
    pub log_last_layer_degree_bound: u32,
    /// Positions drawn, 1 to [`MAX_QUERIES`].
    pub n_queries: usize,
    /// Log of how many values a layer folds to one, at least 1.
    ///
    /// The last layer but one may fold fewer.
    pub fold_step: u32,
}

impl FriConfig {
    /// Conjectured bits of security: the log of the blowup factor for each query.
    #[must_use]
    pub const fn security_bits(&self) -> u32 {
        let queries = if self.n_queries > u32::MAX as usize { u32::MAX } else { self.n_queries as u32 };
        self.log_blowup_factor.saturating_mul(queries)
    }
}

/// Parameters of the polynomial commitment scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcsConfig {
    /// Bits of work that a prover does before it learns the queries, at most 128.
    pub pow_bits: u32,
    /// Parameters of FRI.
    pub fri_config: FriConfig,
    /// Log size of the domain that every column is lifted to.
    ///
    /// Without it, each tree has the height of its largest column. The heights must be equal,
    /// except the preprocessed tree's.
    pub lifting_log_size: Option<u32>,
}

impl Default for PcsConfig {
    /// stwo's default: 13 bits of security, for examples.
    fn default() -> Self {
        let fri_config = FriConfig { log_blowup_factor: 1, log_last_layer_degree_bound: 0, n_queries: 3, fold_step: 1 };
        Self { pow_bits: 10, fri_config, lifting_log_size: None }
    }
}

impl PcsConfig {
    /// Conjectured bits of security: the bits of the work plus the bits of the queries.
    #[must_use]
    pub const fn security_bits(&self) -> u32 {
        self.pow_bits.saturating_add(self.fri_config.security_bits())
    }

    /// Whether each parameter by itself is one that can be proven with.
    ///
    /// # Errors
    /// The first that is out of its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fri = &self.fri_config;
        if self.pow_bits > 128 {
            return Err(ConfigError::PowBits { got: self.pow_bits });
        }
        if !(1..=16).contains(&fri.log_blowup_factor) {
            return Err(ConfigError::Blowup { got: fri.log_blowup_factor });
        }
        if fri.log_last_layer_degree_bound > 10 {
            return Err(ConfigError::LastLayer { got: fri.log_last_layer_degree_bound });
        }
        if !(1..=MAX_QUERIES).contains(&fri.n_queries) {
            return Err(ConfigError::Queries { got: fri.n_queries });
        }
        if !(1..=MAX_LOG_SIZE).contains(&fri.fold_step) {
            return Err(ConfigError::FoldStep { got: fri.fold_step });
        }
        match self.lifting_log_size {
            Some(got) if !(1..=MAX_LOG_SIZE).contains(&got) => Err(ConfigError::Lifting { got }),
            _ => Ok(()),
        }
    }
}

/// A parameter that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// More bits of work than are counted.
    PowBits {
        /// The requested bits.
        got: u32,
    },
    /// No blowup, or one that stwo refuses.
    Blowup {
        /// Log of the requested factor.
        got: u32,
    },
    /// A last layer that stwo refuses.
    LastLayer {
        /// Log of the requested bound.
        got: u32,
    },
    /// No queries, or too many.
    Queries {
        /// The requested number of queries.
        got: usize,
    },
    /// No folding, or more than there are values.
    FoldStep {
        /// Log of the requested step.
        got: u32,
    },
    /// No domain has this size.
    Lifting {
        /// The requested log size.
        got: u32,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowBits { got } => write!(f, "expected at most 128 bits of work, got {got}"),
            Self::Blowup { got } => write!(f, "expected a log blowup factor of 1..=16, got {got}"),
            Self::LastLayer { got } => write!(f, "expected a log degree bound of the last layer of 0..=10, got {got}"),
            Self::Queries { got } => write!(f, "expected 1..={MAX_QUERIES} queries, got {got}"),
            Self::FoldStep { got } => write!(f, "expected a fold step of 1..={MAX_LOG_SIZE}, got {got}"),
            Self::Lifting { got } => write!(f, "expected a lifting log size of 1..={MAX_LOG_SIZE}, got {got}"),
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default with one parameter changed.
    fn with(change: impl FnOnce(&mut PcsConfig)) -> Result<(), ConfigError> {
        let mut config = PcsConfig::default();
        change(&mut config);
        config.validate()
    }

    #[test]
    fn each_parameter_has_its_least_and_greatest_value() {
        let pow_bits = |got| with(|config| config.pow_bits = got);
        assert_eq!([pow_bits(0), pow_bits(128)], [Ok(()); 2]);
        assert_eq!(pow_bits(129), Err(ConfigError::PowBits { got: 129 }));
        let blowup = |got| with(|config| config.fri_config.log_blowup_factor = got);
        assert_eq!([blowup(1), blowup(16)], [Ok(()); 2]);
        assert_eq!([blowup(0), blowup(17)], [0, 17].map(|got| Err(ConfigError::Blowup { got })));
        let last_layer = |got| with(|config| config.fri_config.log_last_layer_degree_bound = got);
        assert_eq!([last_layer(0), last_layer(10)], [Ok(()); 2]);
        assert_eq!(last_layer(11), Err(ConfigError::LastLayer { got: 11 }));
        let queries = |got| with(|config| config.fri_config.n_queries = got);
        assert_eq!([queries(1), queries(MAX_QUERIES)], [Ok(()); 2]);
        assert_eq!(
            [queries(0), queries(MAX_QUERIES + 1)],
            [0, MAX_QUERIES + 1].map(|got| Err(ConfigError::Queries { got }))
        );
        let fold_step = |got| with(|config| config.fri_config.fold_step = got);
        assert_eq!([fold_step(1), fold_step(MAX_LOG_SIZE)], [Ok(()); 2]);
        assert_eq!(
            [fold_step(0), fold_step(MAX_LOG_SIZE + 1)],
            [0, MAX_LOG_SIZE + 1].map(|got| Err(ConfigError::FoldStep { got }))
        );
        let lifting = |got| with(|config| config.lifting_log_size = got);
        assert_eq!([lifting(None), lifting(Some(1)), lifting(Some(MAX_LOG_SIZE))], [Ok(()); 3]);
        assert_eq!(
            [lifting(Some(0)), lifting(Some(MAX_LOG_SIZE + 1))],
            [0, MAX_LOG_SIZE + 1].map(|got| Err(ConfigError::Lifting { got }))
        );
    }
}
