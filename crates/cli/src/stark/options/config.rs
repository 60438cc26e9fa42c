//! Parameters of proofs on the command line.

use clap::Args;
use stark::{FriConfig, PcsConfig};

use super::number::whole;

/// Parameters of a proof.
///
/// By default a proof has 96 bits of conjectured security: 80 queries and 16 bits of work.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ConfigArgs {
    /// Log of the blow-up, the size of a committed domain over the trace, 1..=16.
    ///
    /// Each query adds this number of bits.
    #[arg(long, alias = "blowup", value_name = "LOG", default_value_t = 1, value_parser = whole(1..=16))]
    log_blowup: u32,
    /// Positions at which the proof is opened, 1..=65536.
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = whole(1..=65_536))]
    queries: u32,
    /// Bits of work, 0..=40, done before the queries are drawn.
    #[arg(long, value_name = "BITS", default_value_t = 16, value_parser = whole(0..=40))]
    pow_bits: u32,
    /// Log of how many values a layer of FRI folds to one, 1..=30.
    #[arg(long, value_name = "LOG", default_value_t = 1, value_parser = whole(1..=30))]
    fold_step: u32,
    /// Log of the number of coefficients of the last layer, 0..=10.
    #[arg(long, value_name = "LOG", default_value_t = 0, value_parser = whole(0..=10))]
    last_layer: u32,
    /// Log size that every column is lifted to, 1..=30.
    ///
    /// Without it, each tree has the height of its largest column. stwo requires a lifting size for
    /// preprocessed columns and traces of different heights.
    #[arg(long, value_name = "LOG", value_parser = whole(1..=30))]
    lifting: Option<u32>,
}

/// Upper bound of a proof's security in bits, from its field and its hash.
///
/// More queries do not exceed it.
pub(crate) const MOST_SECURITY: u32 = 120;

/// Bits of conjectured security of proofs with these parameters.
pub(crate) fn security(config: &PcsConfig) -> u32 {
    config.security_bits().min(MOST_SECURITY)
}

impl ConfigArgs {
    /// The options as they are written, with those that were left to their defaults.
    pub(crate) fn options(&self) -> Vec<String> {
        let &Self { log_blowup, queries, pow_bits, fold_step, last_layer, lifting } = self;
        let always = [
            ("log-blowup", log_blowup),
            ("queries", queries),
            ("pow-bits", pow_bits),
            ("fold-step", fold_step),
            ("last-layer", last_layer),
        ];
        let lifting = lifting.map(|lifting| ("lifting", lifting));
        always.into_iter().chain(lifting).map(|(name, value)| format!("--{name} {value}")).collect()
    }

    /// The parameters.
    pub(crate) const fn config(&self) -> PcsConfig {
        PcsConfig {
            pow_bits: self.pow_bits,
            fri_config: FriConfig {
                log_blowup_factor: self.log_blowup,
                log_last_layer_degree_bound: self.last_layer,
                n_queries: self.queries as usize,
                fold_step: self.fold_step,
            },
            lifting_log_size: self.lifting,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct ConfigCommand {
        #[command(flatten)]
        config: ConfigArgs,
    }

    #[test]
    fn the_ends_of_each_range_are_those_of_proofs_and_help_shows_them() {
        let help = <ConfigCommand as clap::CommandFactory>::command().render_long_help().to_string();
        let valid = |option: &str, value: u32| {
            let line = ConfigCommand::try_parse_from(["proof", option, &value.to_string()]);
            line.map(|line| line.config.config().validate()).map_err(|error| error.to_string())
        };
        for (option, least, most) in [
            ("--log-blowup", 1, 16),
            ("--queries", 1, 65_536),
            ("--pow-bits", 0, 40),
            ("--fold-step", 1, 30),
            ("--last-layer", 0, 10),
            ("--lifting", 1, 30),
        ] {
            let range = format!("{least}..={most}");
            assert!(help.contains(&range), "{option}: {help}");
            for value in [least, most] {
                assert_eq!(valid(option, value), Ok(Ok(())), "{option} {value}");
            }
            for value in [least.wrapping_sub(1), most + 1] {
                let refused = valid(option, value).unwrap_err();
                assert!(refused.contains(&format!("expected a whole number of {range}")), "{refused}");
            }
        }
        assert_eq!(security(&ConfigCommand::parse_from(["proof"]).config.config()), 96);
        let old = ConfigCommand::parse_from(["proof", "--blowup", "3"]).config;
        assert_eq!(old.config().fri_config.log_blowup_factor, 3);
        assert!(!help.contains("--blowup"), "{help}");
    }
}
