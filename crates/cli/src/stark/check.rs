//! Rejects parameters that have no proofs, before any work.

use core_types::air::Air;
use stark::{
    AnyStatement, Component, FileError, KnownStatement, PcsConfig, ProofFile, Protocol, Statement as _, StatementError,
    VerifyError, Visitor, check_parameters,
};

use super::file::Format;
use crate::exit::UsageError;

/// Log size of the largest domain.
const LARGEST: u32 = 30;

/// Rejects parameters without proofs of the statement, and names the option at fault.
pub(crate) fn check(statement: &KnownStatement, config: PcsConfig) -> Result<(), UsageError> {
    has_proofs(statement, config).map_err(|error| UsageError(told(&error, statement, config)))
}

/// Refuses what makes no file, or none that is read again.
pub(crate) fn check_file(statement: &KnownStatement, config: PcsConfig, format: Format) -> Result<(), UsageError> {
    let (columns, opened) = statement
        .build()
        .and_then(|statement| file_size(&statement, config))
        .map_err(|error| UsageError(told(&error, statement, config)))?;
    let (most, queries) = (ProofFile::MOST_BYTES, config.fri_config.n_queries);
    if opened.saturating_mul(format.bytes_of_value()) <= most as u64 {
        return Ok(());
    }
    Err(UsageError(format!(
        "`--queries` with {columns} columns: expected a proof of at most {most} bytes; {queries} queries exceed that"
    )))
}

/// Checks that the statement has proofs with these parameters.
fn has_proofs(statement: &KnownStatement, config: PcsConfig) -> Result<(), FileError> {
    Ok(check_parameters(Protocol::V2_3, config, &statement.build()?)?)
}

/// The columns that a proof opens, and the values of them that it holds.
fn file_size(statement: &AnyStatement, config: PcsConfig) -> Result<(u64, u64), FileError> {
    ProofFile::check_size(statement, &config)?;
    let mut traces = Traces { columns: statement.preprocessed().len() as u64, log_rows: 0 };
    statement.visit(&mut traces);
    let fri = config.fri_config;
    let positions = 1u64.checked_shl(traces.log_rows + fri.log_blowup_factor).unwrap_or(u64::MAX);
    // Expected number of distinct positions, since some draws coincide.
    let missed = (1.0 - 1.0 / positions as f64).powf(fri.n_queries as f64);
    let opened = ((1.0 - missed) * positions as f64) as u64;
    Ok((traces.columns, traces.columns.saturating_mul(opened)))
}

/// Counts columns, and finds the greatest height.
struct Traces {
    columns: u64,
    log_rows: u32,
}

impl<'s> Visitor<'s> for Traces {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        self.log_rows = self.log_rows.max(air.log_rows());
        // One that cannot be recorded is refused by name later.
        if let Ok(component) = Component::new(air, preprocessed) {
            self.columns += component.air().columns().iter().map(|tree| tree.len() as u64).sum::<u64>();
        }
    }
}

/// The error in terms of options.
fn told(error: &FileError, statement: &KnownStatement, config: PcsConfig) -> String {
    let fri = config.fri_config;
    match error {
        FileError::Statement(error) => format!("`--air {}`: {error}", statement.name()),
        FileError::Leaves { .. } => format!("`--log-blowup` or `--lifting` is too large: {error}"),
        FileError::Proof(VerifyError::Statement(error)) => match *error {
            StatementError::Rows { log_rows } if log_rows < LARGEST => {
                let (most, got) = (LARGEST - log_rows, fri.log_blowup_factor);
                format!("`--log-blowup` with 2^{log_rows} rows: expected a whole number of 1..={most}, got {got}")
            }
            StatementError::Lifting { .. } => {
                let lifts = |log_size: &u32| {
                    let lifted = PcsConfig { lifting_log_size: Some(*log_size), ..config };
                    let checked = has_proofs(statement, lifted);
                    !matches!(checked, Err(FileError::Proof(VerifyError::Statement(StatementError::Lifting { .. }))))
                };
                let (least, got) = ((1..=LARGEST).find(lifts).unwrap_or(LARGEST), config.lifting_log_size.unwrap_or(0));
                format!("`--lifting`: expected a whole number of {least}..={LARGEST}, got {got}")
            }
            StatementError::Folds { log_degree } => format!(
                "`--fold-step` and `--last-layer`: expected a sum of at most {log_degree}, got {} and {}",
                fri.fold_step, fri.log_last_layer_degree_bound
            ),
            ref other => other.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use stark::{FriConfig, M31};

    use super::*;

    fn config(blowup: u32, fold_step: u32, last_layer: u32, lifting: Option<u32>) -> PcsConfig {
        let (log_blowup_factor, log_last_layer_degree_bound) = (blowup, last_layer);
        let fri_config = FriConfig { log_blowup_factor, log_last_layer_degree_bound, n_queries: 3, fold_step };
        PcsConfig { pow_bits: 1, fri_config, lifting_log_size: lifting }
    }

    #[test]
    fn refusals_name_the_option_and_what_it_takes() {
        let of = |statement: &KnownStatement, config| check(statement, config).err().map(|UsageError(message)| message);
        let fibonacci = |log_rows| KnownStatement::WideFibonacci { log_rows, columns: 3 };
        let message = of(&fibonacci(28), config(3, 1, 0, None)).unwrap();
        assert_eq!(message, "`--log-blowup` with 2^28 rows: expected a whole number of 1..=2, got 3");
        assert_eq!(of(&fibonacci(28), config(2, 1, 0, None)), None);
        let message = of(&fibonacci(6), config(1, 4, 3, None)).unwrap();
        assert_eq!(message, "`--fold-step` and `--last-layer`: expected a sum of at most 6, got 4 and 3");
        assert_eq!(of(&fibonacci(6), config(1, 4, 2, None)), None);
        let message = of(&fibonacci(6), config(2, 1, 0, Some(7))).unwrap();
        assert_eq!(message, "`--lifting`: expected a whole number of 8..=30, got 7");
        assert_eq!(of(&fibonacci(6), config(2, 1, 0, Some(8))), None);
        // Its tables are larger than its rounds, which are larger than its compressions.
        let blake = KnownStatement::Blake2s { log_blocks: 1, digest: [0; 8] };
        let message = of(&blake, config(1, 1, 0, Some(2))).unwrap();
        assert_eq!(message, "`--lifting`: expected a whole number of 11..=30, got 2");
        assert_eq!(of(&blake, config(1, 1, 0, Some(11))), None);
        let large = KnownStatement::Blake2s { log_blocks: 21, digest: [0; 8] };
        assert_eq!(
            of(&large, config(1, 1, 0, None)).unwrap(),
            "`--air blake2s`: expected a log row count of 1..=20, got 21"
        );
    }

    #[test]
    fn files_that_take_long_to_check_are_not_begun() {
        let (inputs, outputs) = ([M31::ONE; 2], vec![M31::ONE; 2]);
        let circuit = KnownStatement::Plonk { gates: 16, inputs, outputs };
        let refused = check_file(&circuit, config(1, 1, 0, Some(25)), Format::Json).unwrap_err().0;
        assert!(
            refused.starts_with("`--log-blowup` or `--lifting` is too large: ") && refused.contains("2^24"),
            "{refused}"
        );
        assert!(check_file(&circuit, config(1, 1, 0, Some(24)), Format::Json).is_ok());
        let wide = KnownStatement::WideFibonacci { log_rows: 10, columns: 65_536 };
        let with = |n_queries, format| {
            let config = config(1, 1, 0, None);
            check_file(&wide, PcsConfig { fri_config: FriConfig { n_queries, ..config.fri_config }, ..config }, format)
        };
        assert!(with(80, Format::Json).is_ok() && with(300, Format::Binary).is_ok());
        assert!(with(600, Format::Binary).is_err());
        assert!(
            with(300, Format::Json)
                .unwrap_err()
                .0
                .starts_with("`--queries` with 65536 columns: expected a proof of at most 134217728 bytes")
        );
        // There are only eight positions.
        let low = KnownStatement::WideFibonacci { log_rows: 2, columns: 65_536 };
        let config = config(1, 1, 0, None);
        let many = PcsConfig { fri_config: FriConfig { n_queries: 60_000, ..config.fri_config }, ..config };
        assert!(check_file(&low, many, Format::Json).is_ok());
    }
}
