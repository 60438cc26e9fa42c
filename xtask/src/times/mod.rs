//! `cargo xtask times`: where the time of builds and of test runs goes.

mod budgets;
mod build;
mod cpu;
mod lines;
mod record;
mod table;
mod unit;
mod wrapper;

use anyhow::Result;
use xshell::Shell;

pub(crate) use self::{
    record::{note_events, recorded},
    wrapper::{LOG, run as wrap_rustc},
};
use crate::tally::Tally;

/// The measurements of the task, besides the recorded times that it always prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MeasureOptions {
    /// A fresh release build of the program.
    pub(crate) release: bool,
    /// A fresh build of all test programs.
    pub(crate) tests: bool,
    /// Lines of LLVM code of the program and of some libraries.
    pub(crate) lines: bool,
}

impl MeasureOptions {
    /// Reads flags; `None` for an unknown one.
    pub(crate) fn parse(flags: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        for flag in flags {
            match *flag {
                "--release" => options.release = true,
                "--tests" => options.tests = true,
                "--lines" => options.lines = true,
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Measures the builds and runs that `options` select.
///
/// Then it prints the times that the last runs of `test` and `ci` recorded.
pub(crate) fn run(sh: &Shell, options: MeasureOptions) -> Result<Tally> {
    let mut tally = Tally::default();
    if options.release {
        tally += build::measure(sh, build::RELEASE)?;
    }
    if options.tests {
        tally += build::measure(sh, build::TESTS)?;
    }
    if options.lines {
        tally += lines::count(sh)?;
    }
    tally += record::show(sh)?;
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_select_measurements_and_unknown_ones_are_rejected() {
        let both = MeasureOptions { release: true, lines: true, ..MeasureOptions::default() };
        assert_eq!(MeasureOptions::parse(&["--lines", "--release"]), Some(both));
        assert_eq!(MeasureOptions::parse(&[]), Some(MeasureOptions::default()));
        assert_eq!(MeasureOptions::parse(&["--tests", "--slow"]), None);
    }
}
