use core::{fmt, str::FromStr};

use thiserror::Error;

/// Where key trees are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// On the host processor.
    #[default]
    Cpu,
    /// On a GPU, or nowhere.
    Gpu,
    /// On a GPU if one can be opened with all it needs, else on the host processor. Decided once, and reported.
    Auto,
}

impl Choice {
    /// The variable that `runtime` reads it from.
    pub const VARIABLE: &str = "SUF_PFSS_BACKEND";

    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Gpu, Self::Auto];

    /// The name in settings and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Auto => "auto",
        }
    }

    /// The choice of a variable's value, the default if it is unset or blank.
    ///
    /// # Errors
    /// [`UnknownChoice`] for any other value.
    pub fn of_variable(value: Option<&str>) -> Result<Self, UnknownChoice> {
        match value.map(str::trim) {
            None | Some("") => Ok(Self::default()),
            Some(value) => value.parse(),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value that names no choice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{variable}: unknown backend `{0}`; expected `cpu`, `gpu` (or `cuda`) or `auto`", variable = Choice::VARIABLE)]
pub struct UnknownChoice(pub String);

impl FromStr for Choice {
    type Err = UnknownChoice;

    /// Accepts any letter case, and `cuda` for `gpu`.
    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let name = text.to_ascii_lowercase();
        let name = if name == "cuda" { "gpu" } else { &name };
        Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or_else(|| UnknownChoice(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_variable() {
        let table = [
            (None, Ok(Choice::Cpu)),
            (Some(""), Ok(Choice::Cpu)),
            (Some("  "), Ok(Choice::Cpu)),
            (Some("cpu"), Ok(Choice::Cpu)),
            (Some("gpu"), Ok(Choice::Gpu)),
            (Some(" CUDA "), Ok(Choice::Gpu)),
            (Some("Auto"), Ok(Choice::Auto)),
            (Some("gup"), Err(UnknownChoice("gup".into()))),
            (Some("sim"), Err(UnknownChoice("sim".into()))),
            (Some("0"), Err(UnknownChoice("0".into()))),
            (Some("cpu,gpu"), Err(UnknownChoice("cpu,gpu".into()))),
        ];
        for (value, expected) in table {
            assert_eq!(Choice::of_variable(value), expected, "{value:?}");
        }
        let error = Choice::of_variable(Some("gup")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "SUF_PFSS_BACKEND: unknown backend `gup`; expected `cpu`, `gpu` (or `cuda`) or `auto`"
        );
    }
}
