//! Names of the backends.

use core::{fmt, str::FromStr};

use thiserror::Error;

/// The backends a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The host processor. The default.
    Cpu,
    /// An NVIDIA GPU. Also spelled `cuda`.
    Gpu,
    /// The GPU if it can be opened, else the host processor.
    ///
    /// Decided once, at opening, and reported.
    Auto,
    /// The simulated CUDA driver.
    Sim,
}

impl Choice {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Gpu, Self::Auto, Self::Sim];

    /// The name used in settings and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Auto => "auto",
            Self::Sim => "sim",
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A backend name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown backend `{0}`; expected `cpu`, `gpu` (or `cuda`), `auto` or `sim`")]
pub struct UnknownChoice(pub String);

impl FromStr for Choice {
    type Err = UnknownChoice;

    /// Accepts any letter case and surrounding white space.
    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let name = text.trim().to_ascii_lowercase();
        let name = if name == "cuda" { "gpu" } else { name.as_str() };
        Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or_else(|| UnknownChoice(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_cuda_means_gpu() {
        for choice in Choice::ALL {
            assert_eq!(choice.name().parse(), Ok(choice));
        }
        assert_eq!(" CUDA ".parse(), Ok(Choice::Gpu));
    }

    #[test]
    fn unknown_names_are_refused_with_the_choices() {
        let error = "gup".parse::<Choice>().unwrap_err();
        assert_eq!(error.to_string(), "unknown backend `gup`; expected `cpu`, `gpu` (or `cuda`), `auto` or `sim`");
    }
}
